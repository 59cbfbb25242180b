#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cluster/environment.h"
#include "device/cuda/gpus.h"
#include "device/cuda/shared_library.h"

namespace mirrortrain::doctor {

/// A folder that runs write to.
struct UsedFolder {
  std::string name;            ///< "runs"
  std::filesystem::path path;  ///< need not exist; empty: there is none
  std::string remedy;          ///< how to use another one
};

/// Where the findings come from. Functions and folders, so that tests can give others.
struct Surroundings {
  Environment environment;
  std::vector<std::string> variables;  ///< names of all variables of the environment
  std::filesystem::path root = "/";    ///< the folder in which /proc, /sys, /dev and /etc are
  std::function<std::filesystem::space_info(const std::filesystem::path&)> space;
  std::size_t cores = 1;  ///< that this process may run on
  std::vector<UsedFolder> folders;
  cuda::Gpus gpus;
  std::vector<cuda::LibraryState> gpu_libraries;     ///< cuDNN, cuBLASLt, NCCL; none in a build without CUDA
  std::function<std::vector<std::string>()> loaded;  ///< files of the shared libraries in this process by now
  /// A version from the function of this name in a loaded library, `zlibVersion`; empty if there is none.
  std::function<std::string(const char* function)> version_by;
  /// Why a module of this program does not load; empty if it does.
  std::function<std::string(const char* module)> module_error;
};

/// This process's; loads the program's modules and, in a build with CUDA, the libraries for GPUs.
Surroundings surroundings_of_process();

/// The libraries that training on GPUs loads, or why they are not found: cuDNN, cuBLASLt and NCCL. None in a build
/// without CUDA.
std::vector<cuda::LibraryState> gpu_libraries();

}  // namespace mirrortrain::doctor
