#include "data/records/sample_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"

namespace mirrortrain::data {

namespace {

constexpr std::uint64_t kMostOfPicture = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void SamplePictures::require_possible(const TarEntry& entry) {
  if (entry.size > kMostOfPicture)
    throw Error(fmt::format("its picture has {} bytes, more than any picture", entry.size));
}

void SamplePictures::add(const TarEntry& entry) {
  require_possible(entry);
  places_.push_back({entry.offset, static_cast<std::uint32_t>(entry.size),
                     static_cast<std::uint32_t>(std::min(entry.offset - entry.header, kMostOfPicture))});
}

void SamplePictures::read(std::int64_t row, std::vector<std::byte>& to) const {
  to.resize(place(row).bytes);
  shards_->of(row).bytes->read(place(row).offset, to);
}

std::string SamplePictures::row_text(std::int64_t row) const {
  const auto& [unpacked, bytes, path, first_row] = shards_->of(row);
  try {
    TarReader reader(*bytes, path, place(row).offset - place(row).behind_header);
    if (const auto entry = reader.next()) return fmt::format("{}: {}", path, shortened(entry->name, 200));
  } catch (const Error&) {  // the archive was changed, which reading it reports
  }
  return place_text(row);
}

std::string SamplePictures::place_text(std::int64_t row) const {
  return fmt::format("{}: the picture at byte {}", shards_->of(row).path, place(row).offset);
}

std::string SamplePictures::identity() const {
  return fmt::format("{} {} {:08x}", shards_->identity(), rows(), crc32_of(std::as_bytes(std::span(places_))));
}

}  // namespace mirrortrain::data
