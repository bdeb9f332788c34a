# What `cmake --install` lays down: programs, library, headers, the folder graphs, and the package for find_package(graphrun).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS graphrun_program graph-dump RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS graphrun_core EXPORT graphrun LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The headers that a client needs: load and compile, run, and what writing an operator takes.
foreach(folder runtime compiler compiler/ir ops)
  file(GLOB HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.h)
  install(FILES ${HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/graphrun/${folder})
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/graphs DESTINATION ${CMAKE_INSTALL_DATADIR}/graphrun)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/graphrun)
install(EXPORT graphrun NAMESPACE graphrun:: DESTINATION ${PACKAGE_DIR} FILE graphrun-config.cmake)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/graphrun-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/graphrun-config-version.cmake DESTINATION ${PACKAGE_DIR})
