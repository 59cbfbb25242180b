#include "data/records/row_files.h"

#include <algorithm>
#include <utility>

#include "data/files/file_stamps.h"

namespace mirrortrain::data {

void RowFiles::begin(const std::string& path, std::shared_ptr<const UnpackedFile> unpacked, std::int64_t first_row) {
  auto bytes = std::make_unique<PositionedFile>(unpacked ? unpacked->path() : path);
  files_.push_back({std::move(unpacked), std::move(bytes), path, first_row});
}

const RowFiles::File& RowFiles::of(std::int64_t row) const {
  return *(std::ranges::upper_bound(files_, row, {}, &File::first_row) - 1);
}

std::string RowFiles::identity() const {
  FileStamps stamps;
  for (const File& file : files_) stamps.add(file.path);
  return stamps.text();
}

}  // namespace mirrortrain::data
