// Finds and loads the plug-in for an MPI library.
#pragma once

#include <string>

#include "runtime/communicator/communicator.h"
#include "runtime/communicator/mpi_functions.h"

namespace graphrun {

// The functions of the plug-in libgraphrun_mpi_<name>.so in the folder of graphrun's library, or of the file that the
// environment variable GRAPHRUN_MPI_LIBRARY names. Call it on the thread that will call these functions. Throws UserError
// (kUsage, E0530 no-mpi) if the plug-in does not exist or does not load.
const MpiFunctions& mpi_functions(const Launcher& launcher);
// Whether the plug-in of this name exists.
bool has_mpi_plugin(const std::string& name);

}  // namespace graphrun
