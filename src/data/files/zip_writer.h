#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace mirrortrain::data {

/// Writes a zip archive of files, stored as they are, which appears under its name complete or not at all. Any number
/// of files may be written side by side: until it is finished, they wait in files without a name in the archive's
/// folder, so that memory does not grow with them, and nothing is left of them. The same files give the same bytes.
/// Every method throws Error, naming the archive, if it cannot be written.
class ZipWriter {
 public:
  /// Creates it in place of an existing file, once finished.
  explicit ZipWriter(const std::filesystem::path& path);

  /// Adds an empty file. `name`: in UTF-8; no two files may have the same. Returns its number.
  std::size_t add(std::string name);
  /// Appends to a file.
  void write(std::size_t file, std::string_view bytes);
  /// Replaces the beginning of a file, which was written before.
  void overwrite_beginning(std::size_t file, std::string_view bytes);
  void finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct Member {
    std::string name;
    std::unique_ptr<std::FILE, Close> content;
  };
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path path_;
  AtomicFile file_;
  std::vector<Member> members_;
};

}  // namespace mirrortrain::data
