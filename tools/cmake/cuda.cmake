# Decides whether the CUDA side is built: MIRRORTRAIN_WITH_CUDA, and in MIRRORTRAIN_CUDA_ABSENT why not. Where it is, enables
# the language CUDA and gives:
#   mirrortrain_cuda  what CUDA sources link: the runtime, which does without a driver until it is asked for GPUs, and the headers of
#                     cuDNN and cuBLASLt. Their libraries are opened when a GPU is used, never linked: hundreds of MB that a run on
#                     CPUs should not need, load or wait for.
# MIRRORTRAIN_WITH_NCCL says whether nccl.h is there as well, in NCCL_INCLUDE_DIR, and MIRRORTRAIN_NCCL_ABSENT why not; its library
# is opened like the others.
# Variables to set: MIRRORTRAIN_CUDA_ARCHITECTURES, CUDAToolkit_ROOT or CUDACXX (a toolkit in another place), MIRRORTRAIN_CUDNN_ROOT
# (cuDNN in another place, such as a Python environment's nvidia/cudnn), MIRRORTRAIN_NCCL_ROOT (the same for NCCL).

set(MIRRORTRAIN_CUDNN_ROOT "" CACHE PATH "A folder with include/cudnn.h and lib/libcudnn.so.9, where the toolkit has none")
set(MIRRORTRAIN_NCCL_ROOT "" CACHE PATH "A folder with include/nccl.h and lib/libnccl.so.2, where the toolkit has none")
set(MIRRORTRAIN_WITH_CUDA OFF)
set(MIRRORTRAIN_WITH_NCCL OFF)
set(MIRRORTRAIN_CUDA_ABSENT "")

# The architectures of this machine's GPUs that the toolkit knows, or 90a.
function(mirrortrain_find_architectures result)
  find_program(NVIDIA_SMI nvidia-smi)
  mark_as_advanced(NVIDIA_SMI)
  set(capabilities "")
  if(NVIDIA_SMI)
    execute_process(COMMAND ${NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE capabilities ERROR_QUIET TIMEOUT 30)
  endif()
  execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+" known "${known}")
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${capabilities}")
  list(REMOVE_DUPLICATES capabilities)
  set(architectures "")
  foreach(capability IN LISTS capabilities)
    string(REPLACE "." "" architecture ${capability})
    if(architecture IN_LIST known)
      list(APPEND architectures ${architecture})
    else()
      message(STATUS "CUDA ${CUDAToolkit_VERSION} does not know GPUs of compute capability ${capability}")
    endif()
  endforeach()
  list(TRANSFORM architectures REPLACE "^90$" "90a")
  if(NOT architectures)
    set(architectures 90a)
  endif()
  set(${result} "${architectures}" PARENT_SCOPE)
endfunction()

if(NOT MIRRORTRAIN_CUDA)
  set(MIRRORTRAIN_CUDA_ABSENT "it was built with MIRRORTRAIN_CUDA=OFF")
elseif(MIRRORTRAIN_SANITIZE)
  set(MIRRORTRAIN_CUDA_ABSENT "it was built with sanitizers")
else()
  find_package(CUDAToolkit 12.0 QUIET)
  if(NOT CUDAToolkit_FOUND)
    set(MIRRORTRAIN_CUDA_ABSENT "it was built without a CUDA toolkit")
  else()
    # cuDNN lies in the toolkit, in the system's folders or in pip's layout: nvidia/cudnn beside the toolkit's nvidia/*.
    list(GET CUDAToolkit_INCLUDE_DIRS 0 MIRRORTRAIN_TOOLKIT_INCLUDE)
    find_path(CUDNN_INCLUDE_DIR cudnn_graph.h HINTS ${MIRRORTRAIN_CUDNN_ROOT}/include ${MIRRORTRAIN_TOOLKIT_INCLUDE}
      ${MIRRORTRAIN_TOOLKIT_INCLUDE}/../../cudnn/include)
    find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDNN_INCLUDE_DIR}/../lib ${CUDNN_INCLUDE_DIR}/../lib64
      ${CUDAToolkit_LIBRARY_DIR})
    find_path(CUBLASLT_INCLUDE_DIR cublasLt.h HINTS ${MIRRORTRAIN_TOOLKIT_INCLUDE}
      ${MIRRORTRAIN_TOOLKIT_INCLUDE}/../../cublas/include)
    mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY CUBLASLT_INCLUDE_DIR)
    set(cudnn_version 0)
    if(CUDNN_INCLUDE_DIR)
      file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h version_lines REGEX "define CUDNN_M(AJOR|INOR) ")
      string(REGEX REPLACE "[^0-9;]" "" cudnn_version "${version_lines}")
      string(REPLACE ";" "." cudnn_version "${cudnn_version}")
    endif()
    if(cudnn_version VERSION_LESS 9.8)
      set(MIRRORTRAIN_CUDA_ABSENT "it was built with a CUDA toolkit, but without cuDNN 9.8 or newer")
    elseif(NOT CUBLASLT_INCLUDE_DIR)
      set(MIRRORTRAIN_CUDA_ABSENT "it was built with a CUDA toolkit, but without cuBLASLt")
    else()
      if(NOT DEFINED MIRRORTRAIN_CUDA_ARCHITECTURES)
        mirrortrain_find_architectures(found)
        set(MIRRORTRAIN_CUDA_ARCHITECTURES "${found}" CACHE STRING
          "GPU architectures to compile for, as in CMAKE_CUDA_ARCHITECTURES; tools/package takes a release's")
      endif()
      set(CMAKE_CUDA_ARCHITECTURES ${MIRRORTRAIN_CUDA_ARCHITECTURES})
      if(NOT DEFINED ENV{CUDACXX} AND CUDAToolkit_NVCC_EXECUTABLE)
        set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE})  # a toolkit need not be on PATH
      endif()
      if(CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
        set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
      endif()
      include(CheckLanguage)
      check_language(CUDA)
      if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
        set(MIRRORTRAIN_WITH_CUDA ON)
      else()
        set(MIRRORTRAIN_CUDA_ABSENT "it was built with a CUDA toolkit whose nvcc did not work")
      endif()
    endif()
  endif()
endif()

set(MIRRORTRAIN_NCCL_ABSENT "${MIRRORTRAIN_CUDA_ABSENT}")
if(MIRRORTRAIN_WITH_CUDA)
  # In the toolkit, the system's folders or pip's layout, as cuDNN.
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${MIRRORTRAIN_NCCL_ROOT}/include ${MIRRORTRAIN_TOOLKIT_INCLUDE}
    ${MIRRORTRAIN_TOOLKIT_INCLUDE}/../../nccl/include)
  find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${NCCL_INCLUDE_DIR}/../lib ${NCCL_INCLUDE_DIR}/../lib64
    ${CUDAToolkit_LIBRARY_DIR})
  mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
  if(NCCL_INCLUDE_DIR)
    set(MIRRORTRAIN_WITH_NCCL ON)
  else()
    set(MIRRORTRAIN_NCCL_ABSENT "it was built without nccl.h")
    message(STATUS "No NCCL: nccl.h was not found")
  endif()
endif()

if(MIRRORTRAIN_WITH_CUDA)
  message(STATUS "CUDA ${CUDAToolkit_VERSION} (${CMAKE_CUDA_COMPILER}), architectures ${MIRRORTRAIN_CUDA_ARCHITECTURES}; "
    "cuDNN ${cudnn_version} (${CUDNN_INCLUDE_DIR})")
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  add_library(mirrortrain_cuda INTERFACE)
  # Two copies in a process would not know of each other's kernels: where the folders are shared libraries, the runtime is one too.
  # pip's has no name without a number.
  if(BUILD_SHARED_LIBS)
    find_library(CUDART_LIBRARY NAMES cudart libcudart.so.${CUDAToolkit_VERSION_MAJOR} HINTS ${CUDAToolkit_LIBRARY_DIR} REQUIRED)
    mark_as_advanced(CUDART_LIBRARY)
    set(CMAKE_CUDA_RUNTIME_LIBRARY None)
    target_link_libraries(mirrortrain_cuda INTERFACE ${CUDART_LIBRARY})
  else()
    target_link_libraries(mirrortrain_cuda INTERFACE CUDA::cudart_static)
  endif()
  target_include_directories(mirrortrain_cuda SYSTEM INTERFACE ${CUDNN_INCLUDE_DIR} ${CUBLASLT_INCLUDE_DIR})
  # -Wpedantic does not go with the code that nvcc generates for the host.
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings>
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow,-Wno-missing-field-initializers,-Werror>")
else()
  message(STATUS "No GPU support: ${MIRRORTRAIN_CUDA_ABSENT}")
endif()
