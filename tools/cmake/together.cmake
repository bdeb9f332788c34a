# Compiles neighbouring sources of a target as one translation unit ("unity build"). Headers and templates are then parsed and
# instantiated once for many files, which is where a compiler of C++ spends most of its time: the programs take about a quarter
# of the processor's time. Names in anonymous namespaces must therefore differ within a group; a clash is an error of the compiler.
#
# -DGRAPHRUN_UNITY=OFF compiles each file alone. tests/alone/check proves that every file still compiles alone, so no file
# can come to rely on what its neighbours include.
option(GRAPHRUN_UNITY "Compile neighbouring source files together" ON)

# compile_together(TARGET BYTES SOURCE...): groups of up to BYTES of text. Large groups make a whole build cheaper, small ones the
# build after a change: PROGRAM_BYTES is for what a newcomer waits for, TEST_BYTES for the tests. A folder that fits joins the
# folder before it; a larger one is cut into groups of its own, so that a new file moves no border in other folders. Left alone
# are files that Highway compiles once for each instruction set and, by CMake's own rule, those with compile definitions or
# options of their own.
set(PROGRAM_BYTES 100000)
set(TEST_BYTES 60000)
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
