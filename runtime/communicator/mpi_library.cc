#include "runtime/communicator/mpi_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "runtime/base/module.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;

std::string value_in_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path plugin_path(const std::string& name) {
  if (const std::string named = value_in_environment("GRAPHRUN_MPI_LIBRARY"); !named.empty()) return named;
  return library_folder() / ("libgraphrun_mpi_" + name + ".so");
}

[[noreturn]] void refuse_mpi(const Launcher& launcher, const std::string& why) {
  throw UserError(ExitCode::kUsage, "E0530 no-mpi",
                  launcher.name + " started several processes, which need MPI to work together: " + why,
                  {"help: tools/setup --mpi installs Open MPI and MPICH; tools/build then builds graphrun with them",
                   "help: without " + launcher.name + ", graphrun works as one process"});
}

}  // namespace

// SLURM_NTASKS is not used: it is also set in a shell that salloc started.
Launcher this_launcher() {
  Launcher launcher;
  if (const std::string size = value_in_environment("OMPI_COMM_WORLD_SIZE"); !size.empty()) {
    launcher = {"mpirun", "openmpi", std::atoi(size.c_str())};
  } else if (const std::string pmi = value_in_environment("PMI_SIZE"); !pmi.empty()) {
    launcher = {value_in_environment("SLURM_STEP_ID").empty() ? "mpirun" : "srun", "mpich", std::atoi(pmi.c_str())};
  } else if (!value_in_environment("PMIX_RANK").empty()) {
    launcher = {value_in_environment("SLURM_STEP_ID").empty() ? "the launcher" : "srun", "openmpi", 0};
  }
  return launcher.processes == 1 ? Launcher() : launcher;
}

bool has_mpi_plugin(const std::string& name) {
  std::error_code error;
  return fs::exists(plugin_path(name), error);
}

const MpiFunctions& mpi_functions(const Launcher& launcher) {
  const fs::path path = plugin_path(launcher.plugin);
  if (!has_mpi_plugin(launcher.plugin)) {
    refuse_mpi(launcher, "this graphrun was built without it (no '" + path.string() + "')");
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse_mpi(launcher, std::string("its library does not load: ") + dlerror());
  const auto find = reinterpret_cast<FindMpiFunctions>(dlsym(library, kMpiFunctionsSymbol));
  if (find == nullptr) refuse_mpi(launcher, "'" + path.string() + "' is no plug-in of graphrun's");
  return *find();
}

}  // namespace graphrun
