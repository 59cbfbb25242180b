#include "data/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/crc32c.h"
#include "base/usable_cores.h"
#include "data/in_threads.h"
#include "data/kept_findings.h"
#include "data/reading_progress.h"

namespace mirrortrain::data {
namespace {

/// Pictures with more bytes in total are not all read before the first step.
constexpr std::uint64_t kMostPictureBytes = std::uint64_t{4} << 30;
constexpr std::int64_t kSampledPictures = 4096;

std::span<const std::byte> rows_of(const Array& array, const Dataset& dataset) {
  // Not by the array's memory, which may have capacity for more rows.
  const std::size_t row = array.row_bytes();
  return {array.bytes.data() + static_cast<std::size_t>(dataset.first_row()) * row,
          static_cast<std::size_t>(dataset.rows()) * row};
}

/// The checksum of `count` checksums, computed by several threads. `progress`, unless null, shows how many bytes are
/// done, as many for each. Throws the exception of the first `one` that has one.
template <class One>
std::uint32_t checksum_of_all(std::size_t count, const One& one, ReadingProgress* progress = nullptr,
                              std::uint64_t bytes_of_one = 0) {
  std::vector<std::uint32_t> sums(count);
  const std::thread::id caller = std::this_thread::get_id();  // the progress is of one thread
  in_threads(count, std::ssize(usable_cores()), [&](std::size_t i) {
    sums[i] = one(i);
    if (progress != nullptr && std::this_thread::get_id() == caller) progress->show((i + 1) * bytes_of_one);
  });
  return crc32c_of(std::as_bytes(std::span(sums)));
}

constexpr std::size_t kPiece = std::size_t{4} << 20;

std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  return checksum_of_all((bytes.size() + kPiece - 1) / kPiece, [&](std::size_t i) {
    return crc32c_of(bytes.subspan(i * kPiece, std::min(kPiece, bytes.size() - i * kPiece)));
  });
}

/// Of rows that are read by position: the same as of these rows in memory.
std::uint32_t checksum_by_position(const Array& array, const Dataset& dataset) {
  const std::size_t row = array.row_bytes(), bytes = static_cast<std::size_t>(dataset.rows()) * row;
  ReadingProgress progress("checksum of " + array.origin, bytes);
  const auto of_piece = [&](std::size_t i) {
    const std::size_t begin = i * kPiece, end = std::min(begin + kPiece, bytes);
    const std::size_t first = begin / row, last = (end + row - 1) / row;  // rows with these bytes
    std::vector<std::byte> scratch;
    const std::byte* const rows = array.rows_at(dataset.first_row() + static_cast<std::int64_t>(first),
                                                static_cast<std::int64_t>(last - first), scratch);
    return crc32c_of({rows + (begin - first * row), end - begin});
  };
  return checksum_of_all((bytes + kPiece - 1) / kPiece, of_piece, &progress, kPiece);
}

/// `compute`, or what it gave before for the same files.
template <class Compute>
std::uint32_t kept_checksum(const std::string& of_files, const Dataset& dataset, const Compute& compute) {
  if (of_files.empty()) return compute();
  const std::string identity = fmt::format("{} {} {}", of_files, dataset.first_row(), dataset.rows());
  if (const auto kept = kept_finding("checksum", identity); kept && kept->is_number_unsigned()) {
    return kept->get<std::uint32_t>();
  }
  const std::uint32_t sum = compute();
  keep_finding("checksum", identity, sum);
  return sum;
}

std::uint32_t checksum_of(const Array& array, const Dataset& dataset) {
  if (!array.is_by_position()) return checksum_of(rows_of(array, dataset));
  return kept_checksum(array.stored->identity(), dataset, [&] { return checksum_by_position(array, dataset); });
}

/// Of the pictures' files: of all their bytes or, if they are too large, of all sizes and the bytes of some.
std::uint32_t checksum_of_pictures(const ExampleSource& source, const Dataset& dataset) {
  const auto rows = static_cast<std::size_t>(dataset.rows());
  std::vector<std::uint64_t> sizes(rows);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    all += sizes[i] = source.stored_bytes(dataset.first_row() + static_cast<std::int64_t>(i));
  }
  if (all <= kMostPictureBytes) {
    return checksum_of_all(
        rows, [&](std::size_t i) { return source.checksum(dataset.first_row() + static_cast<std::int64_t>(i)); });
  }
  const std::int64_t sampled = std::min(kSampledPictures, dataset.rows());
  const std::uint32_t of_sample = checksum_of_all(static_cast<std::size_t>(sampled), [&](std::size_t i) {
    const std::int64_t row = sampled == 1 ? 0 : static_cast<std::int64_t>(i) * (dataset.rows() - 1) / (sampled - 1);
    return source.checksum(dataset.first_row() + row);
  });
  return of_sample ^ checksum_of(std::as_bytes(std::span(sizes)));
}

/// The same, cached by the files' identity.
std::uint32_t checksum_of_features(const Features& features, const Dataset& dataset) {
  if (!features.source) return checksum_of(features.array, dataset);
  return kept_checksum(features.source->identity(), dataset,
                       [&] { return checksum_of_pictures(*features.source, dataset); });
}

}  // namespace

std::string fingerprint(const Dataset& dataset) {
  std::string text = fmt::format("{} examples", dataset.rows());
  for (const Labels& output : dataset.outputs()) {
    text += fmt::format(", labels {:08x}", checksum_of(output.array, dataset));
  }
  for (const Features& input : dataset.inputs()) {
    text += fmt::format(", features {:08x}", checksum_of_features(input, dataset));
  }
  const auto add = [&](std::string_view what, const std::optional<Array>& array) {
    if (array) text += fmt::format(", {} {:08x}", what, checksum_of(*array, dataset));
  };
  for (const Labels& output : dataset.outputs()) {
    add("weights", output.weights);
    add("present", output.present);
  }
  return text;
}

std::vector<std::string> parts_of_fingerprint(const Dataset& dataset) {
  std::vector<std::string> parts{fmt::format("the number of examples ({})", dataset.features(0).origin)};
  const auto add = [&](std::string_view what, const std::string& name, const Array& array) {
    parts.push_back(
        fmt::format("the {}{} ({})", what, name.empty() ? "" : fmt::format(" of '{}'", name), array.origin));
  };
  for (const Labels& output : dataset.outputs()) add("labels", output.name, output.array);
  for (const Features& input : dataset.inputs()) add("features", input.name, input.array);
  for (const Labels& output : dataset.outputs()) {
    if (output.weights) add("weights", output.name, *output.weights);
    if (output.present) add("missing labels", output.name, *output.present);
  }
  return parts;
}

std::string different_parts(std::string_view before, std::string_view now, const std::vector<std::string>& parts) {
  std::vector<std::string> different;
  const auto next = [](std::string_view& text) {
    constexpr std::string_view kBetween = ", ";
    const std::string_view first = text.substr(0, text.find(kBetween));
    text.remove_prefix(std::min(text.size(), first.size() + kBetween.size()));
    return first;
  };
  for (const std::string& part : parts) {
    if (next(before) == next(now)) continue;
    different.push_back(part);
    if (&part == &parts.front()) break;  // of other examples all is different
  }
  return different.empty() ? "" : fmt::format(", in {}", fmt::join(different, " and "));
}

}  // namespace mirrortrain::data
