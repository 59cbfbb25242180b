#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace mirrortrain::cuda {

/// A library that a run on GPUs opens.
struct LibraryState {
  std::string name;   ///< "cuDNN"
  std::string found;  ///< "9.10.2, /usr/lib/libcudnn.so.9"; empty where there is none that serves
  std::string problem;
};

/// One of NVIDIA's libraries, opened at run time: an executable that links it would not start on a machine without it,
/// and hundreds of MB would be mapped for a run on CPUs. Stays open until the program ends, as its threads may still
/// run.
class SharedLibrary {
 public:
  /// Opens `soname` ("libcudnn.so.9") as the system finds it (LD_LIBRARY_PATH, the linker's cache), else in the folder
  /// that the build found it in. Throws Error saying what was tried and what to do.
  explicit SharedLibrary(const std::string& soname);

  /// The file that a library's function comes from.
  static std::string file_of(const void* function);

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

/// `open` returns a library's version, in which the major number counts 10000 and the minor one 100, and a function of
/// it, or throws Error.
template <class Open>
LibraryState state_of_library(std::string name, const Open& open) {
  try {
    const auto [version, function] = open();
    return {std::move(name),
            fmt::format("{}.{}.{}, {}", version / 10000, version / 100 % 100, version % 100,
                        SharedLibrary::file_of(reinterpret_cast<const void*>(function))),
            ""};
  } catch (const Error& error) {
    return {std::move(name), "", error.what()};
  }
}

}  // namespace mirrortrain::cuda
