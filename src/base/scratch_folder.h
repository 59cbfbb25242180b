#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/error.h"

namespace mirrortrain {

/// A folder in the system's temporary one, removed with all it holds.
class ScratchFolder {
 public:
  /// `what`: begins the message of the Error where it cannot be made, "--data -: cannot make a folder for stdin".
  explicit ScratchFolder(const std::string& what) {
    std::string name = (std::filesystem::temp_directory_path() / "mirrortrain-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error(what + ": " + name);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace mirrortrain
