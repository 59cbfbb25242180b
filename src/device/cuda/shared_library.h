#pragma once

#include <initializer_list>
#include <string>

namespace mirrortrain::cuda {

/// One of NVIDIA's libraries, opened at run time: an executable that links it would not start on a machine without it,
/// and hundreds of MB would be mapped for a run on CPUs. Stays open until the program ends, as its threads may still
/// run.
class SharedLibrary {
 public:
  /// Opens `soname` ("libcudnn.so.9") as the system finds it (LD_LIBRARY_PATH, the linker's cache), else in the folder
  /// that the build found it in. Throws Error saying what was tried and what to do.
  explicit SharedLibrary(const std::string& soname);

  /// Points `function` to the library's function of that name, which it must be a pointer to. Throws Error where the
  /// library is too old to have it.
  template <class Function>
  void load(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(find(name));
  }

 private:
  void* find(const char* name) const;

  std::string soname_;
  void* handle_;
};

}  // namespace mirrortrain::cuda
