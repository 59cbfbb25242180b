#include "device/cuda/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain::cuda {

SharedLibrary::SharedLibrary(const std::string& soname) : soname_(soname) {
  std::string reasons, folders = MIRRORTRAIN_CUDA_FOLDERS;
  handle_ = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) reasons = dlerror();
  while (handle_ == nullptr && !folders.empty()) {
    const std::size_t end = folders.find(':');
    handle_ = dlopen((folders.substr(0, end) + "/" + soname).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) reasons += fmt::format("; {}", dlerror());
    folders = end == std::string::npos ? "" : folders.substr(end + 1);
  }
  if (handle_ == nullptr) {
    throw Error(
        fmt::format("{} was not found ({}); install it, or name its folder in LD_LIBRARY_PATH", soname, reasons));
  }
}

std::string SharedLibrary::file_of(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

void* SharedLibrary::find(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) throw Error(fmt::format("{} has no {}: it is too old; install a newer one", soname_, name));
  return found;
}

}  // namespace mirrortrain::cuda
