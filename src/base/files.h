#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain {

// Every function here throws Error naming the path and the system's reason.

/// The whole file.
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text_file(const std::filesystem::path& path);

/// Creates the folder and those above it; it may exist already.
void create_folders(const std::filesystem::path& folder);

/// Makes what was created, renamed or removed in a folder survive a power cut.
void sync_folder(const std::filesystem::path& folder);

/// Renames a file or folder and makes that survive a power cut.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// CRC-32 (zlib's) of bytes, continued from `start`.
std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t start = 0);

/// A file open for writing; what is written goes to the system at once.
class OutputFile {
 public:
  /// kReplace empties a file that exists, kAppend writes at its end, kNew refuses it.
  enum class Mode { kReplace, kAppend, kNew };

  OutputFile(const std::filesystem::path& path, Mode mode);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Makes the bytes survive a power cut, then closes.
  void sync_and_close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Whether a file's name survives a power cut once it is committed, or only when its folder is synced: files of a
/// folder that is renamed into place later need not pay for it one by one.
enum class Naming : bool { kDurable, kWithFolder };

/// A file that appears under its name complete or not at all: bytes go to NAME.tmp beside it, `commit` syncs and
/// renames. Without `commit` the temporary file is removed. A name that is not a regular file (/dev/stdout) is written
/// directly.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path, Naming naming = Naming::kDurable);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

  /// Of all bytes written so far.
  std::uint32_t crc32() const { return crc32_; }

 private:
  std::filesystem::path target_;     ///< behind symbolic links
  std::filesystem::path temporary_;  ///< the target itself where that is written directly
  OutputFile file_;
  Naming naming_;
  bool committed_ = false;
  std::uint32_t crc32_ = 0;
};

/// Writes a whole file atomically.
void write_file(const std::filesystem::path& path, std::string_view text, Naming naming = Naming::kDurable);

}  // namespace mirrortrain
