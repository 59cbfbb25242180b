#pragma once

#include <string>

namespace mirrortrain {

/// A shared library of this program that is loaded when what it does is needed, as it brings along libraries that take
/// long to load. It is never unloaded.
class LoadedModule {
 public:
  /// By its file name alone: in the folders that the program was linked with, those of LD_LIBRARY_PATH and the
  /// system's.
  explicit LoadedModule(const char* file);

  const std::string& file() const { return file_; }
  /// Why it cannot be used; empty if it can.
  const std::string& error() const { return error_; }

  /// The function of this name. If there is none, null, and the module cannot be used.
  template <class Function>
  Function* find(const char* name) {
    return reinterpret_cast<Function*>(find_address(name));
  }

 private:
  void* find_address(const char* name);

  std::string file_, error_;
  void* handle_ = nullptr;
};

}  // namespace mirrortrain
