# Compiles neighboring sources of a target as one translation unit ("unity build"). Headers and templates are then parsed and
# instantiated once for many files, which is most of the work in compiling C++: the programs take about a quarter of the time.
# Names in anonymous namespaces must therefore differ within a group; a clash is a compile error.
#
# -DGRAPHRUN_UNITY=OFF compiles each file alone. tests/alone/check checks that every file compiles alone, so that none relies on
# the includes of its neighbors.
option(GRAPHRUN_UNITY "Compile neighboring source files together" ON)

# compile_together(TARGET BYTES SOURCE...): groups of up to BYTES of text. Large groups make a full build faster, small ones an
# incremental build: PROGRAM_BYTES is for the programs, TEST_BYTES for the tests. Four groups of 60 kB of tests took 53 seconds of
# a core, and 29 as one. A folder that fits joins the previous folder; a larger one is divided into its own groups,
# so that a new file does not change the groups of other folders. Files that Highway compiles once per instruction set are
# compiled alone and so, by CMake's rule, are files with their own definitions or options.
set(PROGRAM_BYTES 260000)
set(TEST_BYTES 240000)
function(compile_together target bytes)
  if(NOT GRAPHRUN_UNITY)
    return()
  endif()
  set(folders)
  foreach(source ${ARGN})
    file(STRINGS ${source} alone REGEX "foreach_target.h" LIMIT_COUNT 1)
    if(NOT alone)
      get_filename_component(folder ${source} DIRECTORY)
      file(SIZE ${source} size)
      list(APPEND folders ${folder})
      list(APPEND "sources_${folder}" ${source})
      list(APPEND "sizes_${folder}" ${size})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(SORT folders)
  set(group 0)
  set(filled 0)
  foreach(folder ${folders})
    list(JOIN "sizes_${folder}" " + " sum)
    math(EXPR total "${filled} + ${sum}")
    if(total GREATER bytes)
      math(EXPR group "${group} + 1")
      set(filled 0)
    endif()
    foreach(source size IN ZIP_LISTS "sources_${folder}" "sizes_${folder}")
      math(EXPR filled "${filled} + ${size}")
      if(filled GREATER bytes)
        math(EXPR group "${group} + 1")
        set(filled ${size})
      endif()
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${target}_${group})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
