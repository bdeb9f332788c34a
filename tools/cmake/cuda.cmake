# The files that generated kernels include, byte for byte, as a source file: NVRTC and the emulated device get them from memory.
set(DEVICE_HEADERS runtime/base/random.h runtime/cuda/primitives.h runtime/cuda/arrivals.h runtime/cuda/emulation.h ops/axis_view.h ops/index/moves.h ops/reduce/column.h
    ops/reduce/column_folds.h ops/generated/device_draws.h ops/generated/device_functions.h ops/generated/device_lines.h ops/generated/device_pack.h
    ops/tiles/table.def ops/recurrent/loop_device.h ops/recurrent/loop_passed.h ops/recurrent/loop_rounded.h
    ops/recurrent/row_loop_device.h ops/matmul/device/few_rows_device.h
    runtime/cuda/matrix_units.h)
set(DEVICE_HEADERS_SOURCE ${GENERATED_DIR}/device_headers.cc)
set(embedded "#include \"runtime/cuda/generated.h\"\n\nnamespace graphrun::cuda {\nnamespace {\n\nconstexpr DeviceHeader kHeaders[] = {\n")
foreach(header ${DEVICE_HEADERS})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${header})
  file(READ ${CMAKE_SOURCE_DIR}/${header} content)
  string(APPEND embedded "    {\"${header}\", R\"HEADER(${content})HEADER\"},\n")
endforeach()
string(APPEND embedded "};\n\n}  // namespace\n\nstd::span<const DeviceHeader> device_headers() { return kHeaders; }\n\n}  // namespace graphrun::cuda\n")
file(WRITE ${DEVICE_HEADERS_SOURCE}.new "${embedded}")
file(COPY_FILE ${DEVICE_HEADERS_SOURCE}.new ${DEVICE_HEADERS_SOURCE} ONLY_IF_DIFFERENT)

# The CUDA backend is a separate library that graphrun loads on demand, so that nothing else links CUDA. It is built if there is
# a CUDA compiler; then, failing to build it is an error.
option(GRAPHRUN_CUDA "Build the CUDA backend where nvcc is found" ON)
set(CUDA_STATE "not asked for")
if(GRAPHRUN_CUDA AND GRAPHRUN_SANITIZE)
  set(CUDA_STATE "not under sanitizers")
elseif(GRAPHRUN_CUDA)
  set(CUDA_STATE "not found")
  find_program(GRAPHRUN_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
endif()
if(GRAPHRUN_CUDA AND GRAPHRUN_NVCC)
  set(CMAKE_CUDA_COMPILER ${GRAPHRUN_NVCC})
  # Machine code for 7.5 to 12.0, where 8.0 also serves 8.6 and 8.9, and PTX of the last one for later devices.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "75-real;80-real;90-real;100-real;120" CACHE STRING "What the CUDA backend is compiled for")
  endif()
  if(CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
  endif()
  enable_language(CUDA)
  # CMake 3.25 knows this option only for nvcc up to 11.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit REQUIRED)
  file(GLOB_RECURSE CUDA_SOURCES CONFIGURE_DEPENDS ops/*.cu)
  file(GLOB CUDA_BACKEND CONFIGURE_DEPENDS runtime/cuda/*.cu)
  add_library(graphrun_cuda MODULE ${CUDA_SOURCES} ${CUDA_BACKEND} ${DEVICE_HEADERS_SOURCE})
  set_target_properties(graphrun_cuda PROPERTIES INSTALL_RPATH "$ORIGIN" CUDA_RUNTIME_LIBRARY Shared)
  target_compile_options(graphrun_cuda PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;-Wno-deprecated-gpu-targets>")
  add_dependencies(graphrun_cuda graphrun_core)
  target_include_directories(graphrun_cuda PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(graphrun_cuda PRIVATE $<TARGET_FILE:graphrun_core> CUDA::cudart CUDA::cublas ${CMAKE_DL_LIBS})
  install(TARGETS graphrun_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set(CUDA_STATE "built, with ${GRAPHRUN_NVCC} ${CMAKE_CUDA_COMPILER_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
endif()
message(STATUS "CUDA: ${CUDA_STATE}")
