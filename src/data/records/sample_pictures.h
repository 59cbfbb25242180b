#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/files/positioned_file.h"
#include "data/files/unpacked_files.h"
#include "data/pictures/decoded_pictures.h"
#include "data/records/tar.h"

namespace mirrortrain::data {

/// Tar archives that are read for as long as a run continues.
class TarShards {
 public:
  /// `unpacked`: a compressed archive's bytes; null if it is not compressed.
  void begin(const std::string& path, std::shared_ptr<const UnpackedFile> unpacked, std::int64_t first_row);

  const PositionedFile& last() const { return *shards_.back().file; }
  const std::string& last_path() const { return shards_.back().path; }

  const PositionedFile& file_of(std::int64_t row) const { return *shard_of(row).file; }
  const std::string& path_of(std::int64_t row) const { return shard_of(row).path; }
  /// Of all archives.
  std::string identity() const;

 private:
  struct Shard {
    std::shared_ptr<const UnpackedFile> unpacked;
    std::unique_ptr<const PositionedFile> file;
    std::string path;  ///< as it was given
    std::int64_t first_row;
  };
  const Shard& shard_of(std::int64_t row) const;
  std::vector<Shard> shards_;
};

/// Pictures in archives: 16 bytes for each.
class SamplePictures : public EncodedPictures {
 public:
  explicit SamplePictures(std::shared_ptr<const TarShards> shards) : shards_(std::move(shards)) {}

  /// Throws Error for a picture of 4 GiB and more.
  static void require_possible(const TarEntry& entry);
  /// Throws the same.
  void add(const TarEntry& entry);

  std::int64_t rows() const override { return std::ssize(places_); }
  void read(std::int64_t row, std::vector<std::byte>& to) const override;
  std::uint64_t stored_bytes(std::int64_t row) const override { return place(row).bytes; }
  std::string row_text(std::int64_t row) const override;
  std::string identity() const override;

 private:
  struct Place {
    std::uint64_t offset;
    std::uint32_t bytes;
    std::uint32_t behind_header;  ///< where its name is
  };
  const Place& place(std::int64_t row) const { return places_[static_cast<std::size_t>(row)]; }

  std::shared_ptr<const TarShards> shards_;
  std::vector<Place> places_;
};

}  // namespace mirrortrain::data
