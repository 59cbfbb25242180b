#include "base/loaded_module.h"

#include <dlfcn.h>

namespace mirrortrain {

LoadedModule::LoadedModule(const char* file) : file_(file), handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* const reason = ::dlerror();
  error_ = reason != nullptr ? reason : "it does not load";
}

void* LoadedModule::find_address(const char* name) {
  void* const found = handle_ != nullptr ? ::dlsym(handle_, name) : nullptr;
  if (found == nullptr && error_.empty()) error_ = "it is another module of this name";
  return found;
}

}  // namespace mirrortrain
