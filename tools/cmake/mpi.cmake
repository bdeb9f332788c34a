# Builds a plug-in for each MPI library that is found. graphrun loads the plug-in when a launcher of that library has started it.
# The binary interfaces of the libraries differ, so each has its own plug-in. Nothing else links MPI.
option(GRAPHRUN_MPI "Build the plug-ins for the MPI libraries that are found" ON)
set(MPI_PLUGINS)

function(add_mpi_plugin name version)  # followed by the targets to link
  add_library(graphrun_mpi_${name} MODULE runtime/mpi/plugin.cc)
  target_include_directories(graphrun_mpi_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  # Without these, the headers need the C++ bindings of MPI 2, which are not used.
  target_compile_definitions(graphrun_mpi_${name} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_link_libraries(graphrun_mpi_${name} PRIVATE ${ARGN})
  add_dependencies(graphrun_core graphrun_mpi_${name})
  install(TARGETS graphrun_mpi_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set(MPI_PLUGINS ${MPI_PLUGINS} "${name} ${version}" PARENT_SCOPE)
  set(MPI_TARGET_${name} ${ARGN} PARENT_SCOPE)  # for the peer of a benchmark
endfunction()

if(GRAPHRUN_MPI)
  # Debian's packages can be installed together; each has a file for pkg-config.
  pkg_check_modules(OPENMPI QUIET IMPORTED_TARGET ompi-c)
  pkg_check_modules(MPICH QUIET IMPORTED_TARGET mpich)
  if(OPENMPI_FOUND)
    add_mpi_plugin(openmpi ${OPENMPI_VERSION} PkgConfig::OPENMPI)
  endif()
  if(MPICH_FOUND)
    add_mpi_plugin(mpich ${MPICH_VERSION} PkgConfig::MPICH)
  endif()
  # Otherwise, the library of the compiler wrapper mpicxx, as on most clusters.
  if(NOT OPENMPI_FOUND AND NOT MPICH_FOUND)
    set(MPI_CXX_SKIP_MPICXX TRUE)
    find_package(MPI QUIET COMPONENTS CXX)
    if(MPI_CXX_FOUND)
      include(CheckCXXSourceCompiles)
      set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
      check_cxx_source_compiles("#include <mpi.h>\n#ifndef OPEN_MPI\n#error\n#endif\nint main() {}" MPI_IS_OPEN_MPI)
      unset(CMAKE_REQUIRED_LIBRARIES)
      if(MPI_IS_OPEN_MPI)
        add_mpi_plugin(openmpi "${MPI_CXX_VERSION}" MPI::MPI_CXX)
      else()
        add_mpi_plugin(mpich "${MPI_CXX_VERSION}" MPI::MPI_CXX)
      endif()
    endif()
  endif()
endif()
list(JOIN MPI_PLUGINS ", " MPI_STATE)
if(NOT MPI_STATE)
  set(MPI_STATE "not found: training uses one process")
endif()
message(STATUS "MPI: ${MPI_STATE}")
