#include "data/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/files.h"

namespace mirrortrain::data {
namespace {

constexpr std::size_t kEnd = std::size_t{1} << 20;
constexpr std::int64_t kPictures = 64;  // that are decoded: some tenths of a second with large ones

std::span<const std::byte> rows_of(const Array& array, const Dataset& dataset) {
  // Not by the array's memory, which may have room for more rows.
  const std::size_t row = static_cast<std::size_t>(array.row_elements()) * size_of(array.dtype);
  return {array.bytes.data() + static_cast<std::size_t>(dataset.first_row()) * row,
          static_cast<std::size_t>(dataset.rows()) * row};
}

std::string pictures_fingerprint(const Dataset& dataset) {
  std::vector<float> row(static_cast<std::size_t>(dataset.features().row_elements()));
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < dataset.rows(); ++i) {
    const std::uint64_t bytes = dataset.source()->stored_bytes(dataset.first_row() + i);
    sum = crc32_of(std::as_bytes(std::span(&bytes, 1)), sum);
  }
  const std::int64_t pictures = std::min(kPictures, dataset.rows());
  for (std::int64_t i = 0; i < pictures; ++i) {  // the first and the last among them
    const std::int64_t at = pictures == 1 ? 0 : i * (dataset.rows() - 1) / (pictures - 1);
    dataset.source()->read(dataset.first_row() + at, row);
    sum = crc32_of(std::as_bytes(std::span(row)), sum);
  }
  return fmt::format("{} examples, labels {:08x}, features {:08x}", dataset.rows(),
                     crc32_of(rows_of(dataset.labels(), dataset)), sum);
}

}  // namespace

std::string fingerprint(const Dataset& dataset) {
  if (dataset.source() != nullptr) return pictures_fingerprint(dataset);
  const std::string weights = dataset.weights() == nullptr
                                  ? ""
                                  : fmt::format(", weights {:08x}", crc32_of(rows_of(*dataset.weights(), dataset)));
  const auto features = rows_of(dataset.features(), dataset);
  const std::size_t end = std::min(kEnd, features.size());
  const std::uint32_t ends = crc32_of(features.last(end), crc32_of(features.first(end)));
  return fmt::format("{} examples, labels {:08x}, features {:08x}{}", dataset.rows(),
                     crc32_of(rows_of(dataset.labels(), dataset)), ends, weights);
}

}  // namespace mirrortrain::data
