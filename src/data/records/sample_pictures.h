#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/pictures/decoded_pictures.h"
#include "data/records/row_files.h"
#include "data/records/tar.h"

namespace mirrortrain::data {

/// Pictures in archives: 16 bytes for each.
class SamplePictures : public EncodedPictures {
 public:
  explicit SamplePictures(std::shared_ptr<const RowFiles> shards) : shards_(std::move(shards)) {}

  /// Throws Error for a picture of 4 GiB and more.
  static void require_possible(const TarEntry& entry);
  /// Throws the same.
  void add(const TarEntry& entry);

  std::int64_t rows() const override { return std::ssize(places_); }
  void read(std::int64_t row, std::vector<std::byte>& to) const override;
  void will_read(std::int64_t row) const override {
    shards_->of(row).bytes->will_read(place(row).offset, place(row).bytes);
  }
  std::uint64_t stored_bytes(std::int64_t row) const override { return place(row).bytes; }
  /// Reads the picture's name.
  std::string row_text(std::int64_t row) const override;
  std::string place_text(std::int64_t row) const override;
  std::string identity() const override;

 private:
  struct Place {
    std::uint64_t offset;
    std::uint32_t bytes;
    std::uint32_t behind_header;  ///< where its name is
  };
  const Place& place(std::int64_t row) const { return places_[static_cast<std::size_t>(row)]; }

  std::shared_ptr<const RowFiles> shards_;
  std::vector<Place> places_;
};

}  // namespace mirrortrain::data
