#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mirrortrain {

/// What the system refused, by its error number: says nothing about what a file holds.
class SystemError : public Error {
 public:
  SystemError(const std::string& what, int code) : Error(what), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

// Every function here throws SystemError naming the path and the system's reason.

/// The whole of a regular file: a pipe or a device is refused without waiting for it.
std::vector<std::byte> read_file(const std::filesystem::path& path);
std::string read_text_file(const std::filesystem::path& path);

/// Creates a folder in one that exists, so that it survives a power cut. Returns false where it exists already.
bool create_folder(const std::filesystem::path& folder);
/// The same with the folders above it.
void create_folders(const std::filesystem::path& folder);

/// Makes what was created, renamed or removed in a folder survive a power cut.
void sync_folder(const std::filesystem::path& folder);

/// Renames a file or folder and makes that survive a power cut.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// CRC-32 (zlib's) of bytes, continued from `start`.
std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t start = 0);

/// A regular file open for reading. A pipe or a device is refused without waiting for it.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// In bytes, when it was opened.
  std::uint64_t size() const { return size_; }
  /// The next bytes; returns how many: fewer only at the file's end.
  std::size_t read(std::span<std::byte> bytes);
  /// Of all bytes read so far.
  std::uint32_t crc32() const { return crc32_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint32_t crc32_ = 0;
};

/// Whether an open file's name is still that of this file: it may have been moved, removed or replaced meanwhile.
bool is_named(int descriptor, const std::filesystem::path& path);

/// A file open for writing; what is written goes to the system at once.
class OutputFile {
 public:
  /// kReplace empties a file that exists, kAppend writes at its end, kNew refuses it.
  enum class Mode { kReplace, kAppend, kNew };

  /// `shown`: the name in errors, where it is not that of the file.
  OutputFile(const std::filesystem::path& path, Mode mode, const std::filesystem::path& shown = {});
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Who may read and write it.
  void set_mode(std::filesystem::perms mode);
  /// Makes the bytes survive a power cut.
  void sync();
  /// The same, then closes.
  void sync_and_close();
  bool is_in_place() const { return is_named(descriptor_, path_); }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Whether a file's name survives a power cut once it is committed, or only when its folder is synced: files of a
/// folder that is renamed into place later need not pay for it one by one.
enum class Naming : bool { kDurable, kWithFolder };

/// A file that appears under its name complete or not at all: bytes go to a file of its own beside it, NAME.*.tmp;
/// `commit` syncs and renames. Without `commit` the temporary file is removed. A file that was there keeps its mode, a
/// symbolic link stays one. A name that is not a regular file (/dev/stdout) is written directly.
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
  std::unique_ptr<OutputFile> file_;
  Naming naming_;
  bool committed_ = false;
  std::uint32_t crc32_ = 0;
};

/// Throws UsageError where a result would replace a file that this process has read, as its data.
void require_not_read(const std::filesystem::path& path);
/// Writes a result where its user says, which is no file that this process has read: else throws UsageError.
void write_result(const std::filesystem::path& path, std::string_view text);

/// The file that a name, which may be a symbolic link, refers to, even if it does not exist yet.
std::filesystem::path resolve_symlinks(const std::filesystem::path& path);

/// Writes a whole file atomically.
void write_file(const std::filesystem::path& path, std::string_view text, Naming naming = Naming::kDurable);

/// Whether a name is that of an AtomicFile that was not committed: of a process that was killed, or that still writes.
bool is_temporary(const std::filesystem::path& path);

}  // namespace mirrortrain
