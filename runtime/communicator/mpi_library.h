// Finds and loads the plug-in of an MPI library.
#pragma once

#include <string>

#include "runtime/communicator/communicator.h"
#include "runtime/communicator/mpi_functions.h"

namespace graphrun {

// The plug-in libgraphrun_mpi_<name>.so beside graphrun's own library, or the file that the environment variable
// GRAPHRUN_MPI_LIBRARY names. Throws UserError (kUsage, E0530 no-mpi). Call it on the thread that calls the functions.
const MpiFunctions& mpi_functions(const Launcher& launcher);
// Whether that plug-in exists.
bool has_mpi_plugin(const std::string& name);

}  // namespace graphrun
