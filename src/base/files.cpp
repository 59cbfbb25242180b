#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/descriptor.h"
#include "base/file_calls.h"
#include "base/open_file.h"

namespace mirrortrain {

namespace fs = std::filesystem;

namespace {

template <class Bytes>
Bytes read_whole(const fs::path& path) {
  InputFile file(path);
  Bytes bytes(file.size() + 1, typename Bytes::value_type{});  // the size is only a hint: files of /proc have none
  std::size_t filled = 0;
  while (true) {
    filled += file.read(std::as_writable_bytes(std::span(bytes)).subspan(filled));
    if (filled < bytes.size()) break;
    bytes.resize(std::max<std::size_t>(2 * filled, 4096));
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

std::vector<std::byte> read_file(const fs::path& path) { return read_whole<std::vector<std::byte>>(path); }

std::string read_text_file(const fs::path& path) { return read_whole<std::string>(path); }

bool create_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0) {
    const int reason = errno;
    std::error_code ignored;
    if (reason == EEXIST && fs::is_directory(folder, ignored)) return false;
    if (fs::is_symlink(folder, ignored) && !fs::exists(folder, ignored)) {
      throw SystemError(fmt::format("cannot create the folder {}: it is a symbolic link to {}, which does not exist; "
                                    "create or mount that, or remove the link",
                                    folder.string(), fs::read_symlink(folder, ignored).string()),
                        reason);
    }
    fail_with("create the folder", folder, reason);
  }
  sync_folder(folder_of(folder));
  return true;
}

void create_folders(const fs::path& folder) {
  const fs::path path = folder.has_filename() ? folder : folder.parent_path();  // a/b/ ends in an empty name
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return;
  if (path.has_parent_path()) create_folders(path.parent_path());
  create_folder(path);
}

void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.is_open()) fail_with("open the folder", folder, errno);
  // Some file systems cannot sync a folder and return EINVAL; nothing more can be done there.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) fail_with("sync the folder", folder, errno);
}

void rename_durably(const fs::path& from, const fs::path& to) {
  rename_to(from, to);
  sync_folder(folder_of(to));
}

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t start) {
  if (bytes.empty()) return start;  // zlib begins anew where there is no memory
  return static_cast<std::uint32_t>(::crc32_z(start, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

InputFile::InputFile(const fs::path& path) : path_(path) {
  descriptor_ = open_to_read(path);
  if (descriptor_ < 0) fail_with("read", path, errno);
  struct stat status {};
  const int reason = ::fstat(descriptor_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  const bool is_regular = S_ISREG(status.st_mode);
  if (reason == 0 && is_regular) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(descriptor_);
  if (reason != 0) fail_with("read", path, reason);
  throw SystemError(fmt::format("cannot read {}: expected a file, found a pipe or a device", path.string()), ESPIPE);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read(std::span<std::byte> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(descriptor_, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with("read", path_, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  crc32_ = crc32_of(bytes.first(filled), crc32_);
  return filled;
}

}  // namespace mirrortrain
