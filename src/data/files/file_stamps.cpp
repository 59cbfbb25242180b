#include "data/files/file_stamps.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

namespace mirrortrain::data {

void FileStamps::add_bytes(std::string_view bytes) {
  for (const char c : bytes) hash_ = (hash_ ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
}

void FileStamps::add(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) status = {};  // reading the file reports the error
  add_bytes(std::filesystem::absolute(path).string());
  // A copy may have kept the modification time, but not the change time.
  add_bytes(fmt::format("\n{} {} {}.{:09} {}.{:09}\n", status.st_size, status.st_ino, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec));
  ++files_;
}

std::string FileStamps::text() const { return fmt::format("{}-{:016x}", files_, hash_); }

}  // namespace mirrortrain::data
