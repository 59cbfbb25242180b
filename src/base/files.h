#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mirrortrain {

/// A failed system call, with its error number; never an error in a file's content.
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

/// Creates a folder in an existing one, so that it survives a power cut. Returns false where it exists already.
bool create_folder(const std::filesystem::path& folder);
/// The same, including missing parent folders.
void create_folders(const std::filesystem::path& folder);

/// Makes entries created, renamed or removed in a folder survive a power cut.
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

/// A file open for writing, unbuffered.
class OutputFile {
 public:
  /// kReplace empties a file that exists, kAppend writes at its end, of what one call writes all or nothing; kNew
  /// refuses it.
  enum class Mode { kReplace, kAppend, kNew };

  /// `shown`: the name in errors, where it differs from the file's.
  OutputFile(const std::filesystem::path& path, Mode mode, const std::filesystem::path& shown = {});
  /// A file that is open already, as stdout; the descriptor is duplicated.
  OutputFile(int descriptor, const std::filesystem::path& shown);
  /// A file without a name in a folder, which nothing is left of unless it is linked; null where the file system has no
  /// such files.
  static std::unique_ptr<OutputFile> without_name(const std::filesystem::path& folder,
                                                  const std::filesystem::path& shown);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Replaces bytes that were written before, from `offset` on. What is written next still follows the file's end.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Gives a file without a name this one; returns false if there is such a file already.
  bool link(const std::filesystem::path& name);
  /// Sets the file's permissions.
  void set_mode(std::filesystem::perms mode);
  /// Makes the bytes survive a power cut.
  void sync();
  /// The same, then closes.
  void sync_and_close();
  bool is_in_place() const { return is_named(descriptor_, path_); }

 private:
  void take_back(std::size_t bytes);

  std::filesystem::path path_;
  bool appends_ = false;
  int descriptor_ = -1;
};

/// Whether a file's name survives a power cut once it is committed, or only when its folder is synced: files in a
/// folder that is renamed into place later need no sync each.
enum class Naming : bool { kDurable, kWithFolder };

/// A file that appears under its name complete or not at all: bytes go to a file without a name in the same folder,
/// which `commit` syncs and names; a process that is killed leaves nothing of it. Where the file system has no such
/// files it is a temporary one, NAME.*.tmp, which is removed without `commit`. A replaced file's mode is kept, and a
/// symbolic link remains a link. A name that is not a regular file, or that of an open descriptor (/dev/stdout), is
/// written directly.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path, Naming naming = Naming::kDurable);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Replaces bytes that were written before, from `offset` on.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes) { file_->overwrite(offset, bytes); }
  void commit();
  /// Whether bytes that were written can be replaced: those in a pipe cannot.
  bool can_overwrite() const;

  /// Of all bytes written so far, as they were written first.
  std::uint32_t crc32() const { return crc32_; }

 private:
  bool is_direct() const { return temporary_ == target_; }
  void name_file();

  std::filesystem::path target_;     ///< with symbolic links resolved
  std::filesystem::path temporary_;  ///< the target itself where that is written directly; empty: has no name yet
  std::unique_ptr<OutputFile> file_;
  Naming naming_;
  bool committed_ = false;
  std::uint32_t crc32_ = 0;
};

/// Throws UsageError if writing a result to `path` would replace a file that this process has read, such as its data.
void require_not_read(const std::filesystem::path& path);
/// Writes a result to the path that the user chose. Throws UsageError if this process has read that file.
void write_result(const std::filesystem::path& path, std::string_view text);

/// A file of a folder that is open to read and write and has no name, so that nothing is left of it; null with errno.
std::FILE* unnamed_file(const std::filesystem::path& folder);

/// The file that a name, which may be a symbolic link, refers to, even if it does not exist yet.
std::filesystem::path resolve_symlinks(const std::filesystem::path& path);

/// Writes a whole file atomically.
void write_file(const std::filesystem::path& path, std::string_view text, Naming naming = Naming::kDurable);

/// Whether a name is that of an uncommitted AtomicFile, left by a killed process or still being written.
bool is_temporary(const std::filesystem::path& path);

}  // namespace mirrortrain
