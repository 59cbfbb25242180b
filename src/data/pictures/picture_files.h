#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/pictures/decoded_pictures.h"

namespace mirrortrain::data {

/// Whether the name ends as those of pictures do that decode_picture knows, and the file is not hidden.
bool is_picture_name(const std::filesystem::path& path);

/// Whether a path, as written in data, is of something below the folder that it starts from, wherever links lead.
bool is_below(const std::filesystem::path& path);
/// Whether there is such a file; false too for paths that the system refuses.
bool is_file(const std::filesystem::path& path);

/// Pictures in a file each.
class PictureFiles : public EncodedPictures {
 public:
  explicit PictureFiles(std::vector<std::string> files) : files_(std::move(files)) {}

  std::int64_t rows() const override { return static_cast<std::int64_t>(files_.size()); }
  void read(std::int64_t row, std::vector<std::byte>& to) const override;
  void will_read(std::int64_t row) const override;
  std::uint64_t stored_bytes(std::int64_t row) const override;
  std::string row_text(std::int64_t row) const override { return files_[static_cast<std::size_t>(row)]; }
  std::string identity() const override;

 private:
  std::vector<std::string> files_;
};

}  // namespace mirrortrain::data
