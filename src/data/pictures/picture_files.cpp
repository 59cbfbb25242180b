#include "data/pictures/picture_files.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/open_file.h"
#include "base/utf8.h"
#include "data/files/file_stamps.h"
#include "data/files/input.h"

namespace mirrortrain::data {

bool is_picture_name(const std::filesystem::path& path) {
  constexpr auto kEndings =
      std::to_array<std::string_view>({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"});
  const std::string name = path.filename().string(), ending = in_lower_case(path.extension().string());
  return !name.starts_with('.') && std::ranges::find(kEndings, ending) != kEndings.end();
}

bool is_below(const std::filesystem::path& path) {
  return !path.has_root_path() && *path.lexically_normal().begin() != "..";
}

bool is_file(const std::filesystem::path& path) {
  std::error_code refused;
  return std::filesystem::is_regular_file(path, refused);
}

void PictureFiles::read(std::int64_t row, std::vector<std::byte>& to) const { PlainFile(row_text(row)).read_whole(to); }

void PictureFiles::will_read(std::int64_t row) const {
  try {
    const Descriptor file(open_to_read(row_text(row)));
    constexpr off_t kToItsEnd = 0;
    if (file.is_open()) static_cast<void>(::posix_fadvise(file.get(), 0, kToItsEnd, POSIX_FADV_WILLNEED));
  } catch (const Error&) {  // of a table that names the files; reading the row reports it
  }
}

std::uint64_t PictureFiles::stored_bytes(std::int64_t row) const {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(row_text(row), error);
  return error ? 0 : bytes;  // reading it reports the error
}

std::string PictureFiles::identity() const {
  FileStamps stamps;
  for (std::int64_t row = 0; row < rows(); ++row) stamps.add(row_text(row));
  return stamps.text();
}

}  // namespace mirrortrain::data
