#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace mirrortrain::cuda {

/// A library that runs on GPUs load.
struct LibraryState {
  std::string name;   ///< "cuDNN"
  std::string found;  ///< "9.10.2, /usr/lib/libcudnn.so.9"; empty if no usable one was found
  std::string problem;
};

/// One of NVIDIA's libraries, loaded at run time: an executable linked to it would not start on a machine without it,
/// and would map hundreds of MB in a run on CPUs. Stays loaded until the program ends, because its threads may still
/// run.
class SharedLibrary {
 public:
  /// Loads `soname` ("libcudnn.so.9") by the system's search (LD_LIBRARY_PATH, the linker's cache), else from the
  /// folder where the build found it. Throws Error with what was tried and the remedy.
  explicit SharedLibrary(const std::string& soname);

  /// The file that a library's function comes from.
  static std::string file_of(const void* function);

  /// Points `function` to the library's function of that name, which it must be a pointer to. Throws Error if the
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
