#include "doctor/surroundings.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/loaded_module.h"
#include "base/usable_cores.h"
#include "collective/nccl/nccl_communicator.h"
#include "data/files/unpacked_files.h"
#include "data/kept_findings.h"
#include "device/cpu/cpu_device.h"
#include "kernels/cuda/backend.h"

namespace mirrortrain::doctor {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_of_variables() {
  std::vector<std::string> names;
  for (char** one = ::environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view variable(*one);
    names.emplace_back(variable.substr(0, variable.find('=')));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> loaded_files() {
  std::vector<std::string> files;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (*info->dlpi_name != '\0') static_cast<std::vector<std::string>*>(list)->emplace_back(info->dlpi_name);
        return 0;
      },
      &files);
  return files;
}

/// MPI's function writes to a buffer of the implementation's MPI_MAX_LIBRARY_VERSION_STRING, 8192 in the largest.
std::string version_by(const char* name) {
  void* const found = ::dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) return "";
  std::string text;
  if (std::string_view(name) == "MPI_Get_library_version") {
    std::array<char, 8192> buffer{};
    int length = 0;
    reinterpret_cast<int (*)(char*, int*)>(found)(buffer.data(), &length);
    text = buffer.data();
    return text.substr(0, text.find_first_of(",\n"));  // followed by who built it
  }
  const char* const version = reinterpret_cast<const char* (*)()>(found)();
  text = version != nullptr ? version : "";
  text = text.substr(0, text.find('\n'));
  return text.substr(text.rfind(' ') + 1);  // "LIBTIFF, Version 4.5.0"
}

std::vector<UsedFolder> used_folders() {
  std::error_code none;
  const fs::path temporary = fs::temp_directory_path(none);
  return {
      {"runs", fs::current_path(none) / "runs", "work in another folder, or name one: fit --run-dir DIR"},
      {"cache", data::findings_folder(), "set XDG_CACHE_HOME to a folder of yours; without it, files are read again"},
      {"unpacked data", data::default_cache_directory(), "name another one: data.cache_directory, or set TMPDIR"},
      {"temporary", temporary.empty() ? fs::path("/tmp") : temporary, "set TMPDIR to a folder of yours"}};
}

}  // namespace

std::vector<cuda::LibraryState> gpu_libraries() {
  std::vector<cuda::LibraryState> libraries = cuda::find_libraries();
  if (!libraries.empty()) libraries.push_back(find_nccl());
  return libraries;
}

Surroundings surroundings_of_process() {
  Surroundings found;
  found.environment = process_environment();
  found.variables = names_of_variables();
  found.space = [](const fs::path& path) { return fs::space(path); };
  found.cores = usable_cores().size();
  found.folders = used_folders();
  found.gpus = cuda::visible_gpus();
  found.gpu_libraries = gpu_libraries();
  found.version_by = version_by;
  found.module_error = [](const char* module) { return LoadedModule(module).error(); };
  found.loaded = loaded_files;
  return found;
}

}  // namespace mirrortrain::doctor
