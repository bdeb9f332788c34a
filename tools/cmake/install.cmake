# `cmake --install` installs programs, library, headers, the graphs folder, and the package for find_package(graphrun).
include(CMakePackageConfigHelpers)

install(TARGETS graphrun_program graph-dump RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS graphrun_core EXPORT graphrun LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS graphrun_sentencepiece LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The headers that a client needs: to load, compile and run graphs, and to register its own operators.
file(GLOB IR_HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/compiler/ir/*.h)
set(INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/graphrun)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime DESTINATION ${INCLUDE_DIR} FILES_MATCHING PATTERN *.h PATTERN cuda EXCLUDE PATTERN mpi EXCLUDE)
install(FILES ${IR_HEADERS} DESTINATION ${INCLUDE_DIR}/compiler/ir)
install(FILES ${CMAKE_SOURCE_DIR}/compiler/ir/tokens/tokens.h DESTINATION ${INCLUDE_DIR}/compiler/ir/tokens)
install(FILES ${CMAKE_SOURCE_DIR}/compiler/frontend/request.h DESTINATION ${INCLUDE_DIR}/compiler/frontend)
install(FILES ${CMAKE_SOURCE_DIR}/compiler/compile.h ${CMAKE_SOURCE_DIR}/compiler/tape_decision.h DESTINATION ${INCLUDE_DIR}/compiler)
install(FILES ${CMAKE_SOURCE_DIR}/ops/schema.h DESTINATION ${INCLUDE_DIR}/ops)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/graphs DESTINATION ${CMAKE_INSTALL_DATADIR}/graphrun)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools/new ${CMAKE_SOURCE_DIR}/tools/editor DESTINATION ${CMAKE_INSTALL_DATADIR}/graphrun)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/graphrun)
install(EXPORT graphrun NAMESPACE graphrun:: DESTINATION ${PACKAGE_DIR} FILE graphrun-config.cmake)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/graphrun-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/graphrun-config-version.cmake DESTINATION ${PACKAGE_DIR})
