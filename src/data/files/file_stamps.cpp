#include "data/files/file_stamps.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

namespace mirrortrain::data {

FileState state_of(const std::string& path) {
  const auto nanoseconds = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_size, status.st_ino, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

void FileStamps::add_bytes(std::string_view bytes) {
  for (const char c : bytes) hash_ = (hash_ ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
}

void FileStamps::add(const std::string& path) {
  const FileState state = state_of(path);  // where there is no file, reading it reports the error
  add_bytes(std::filesystem::absolute(path).string());
  add_bytes(fmt::format("\n{} {} {} {}\n", state.bytes, state.inode, state.modified, state.changed));
  ++files_;
}

std::string FileStamps::text() const { return fmt::format("{}-{:016x}", files_, hash_); }

}  // namespace mirrortrain::data
