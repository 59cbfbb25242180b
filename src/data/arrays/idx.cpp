#include "data/arrays/idx.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <optional>

#include "base/error.h"
#include "data/arrays/array_file.h"
#include "data/arrays/element.h"
#include "data/files/input.h"
#include "data/key_aliases.h"

namespace mirrortrain::data {
namespace {

std::optional<Element> element_of(std::byte code) {
  using Kind = Element::Kind;
  switch (std::to_integer<int>(code)) {
    case 0x08: return Element{Kind::kUnsigned, 1, true};
    case 0x09: return Element{Kind::kSigned, 1, true};
    case 0x0b: return Element{Kind::kSigned, 2, true};
    case 0x0c: return Element{Kind::kSigned, 4, true};
    case 0x0d: return Element{Kind::kFloat, 4, true};
    case 0x0e: return Element{Kind::kFloat, 8, true};
    default: return std::nullopt;
  }
}

std::int64_t read_extent(Input& input) {
  std::array<std::byte, 4> bytes;
  input.read_all(bytes, "the header");
  std::uint32_t extent = 0;
  for (const std::byte byte : bytes) extent = extent << 8 | std::to_integer<std::uint32_t>(byte);
  return extent;
}

}  // namespace

config::Section<Idx> Idx::section() {
  return config::Section<Idx>("IDX files, the format of MNIST, gzip-compressed or not.")
      .key("images", &Idx::images,
           "Path of the file with the features, one row per example; or a glob or a list of files.", config::required)
      .key("labels", &Idx::labels,
           "Path of the file with the labels, one row per example; or a glob or a list of files.", config::required,
           kLabelsAliases);
}

namespace {

ArrayHeader read_header(Input& input) {
  std::array<std::byte, 4> magic{};
  input.read_all(magic, "the header");
  const auto element = element_of(magic[2]);
  const int rank = std::to_integer<int>(magic[3]);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0} || !element || rank == 0) {
    throw Error(
        fmt::format("{}: expected an IDX file, which begins with 0, 0, a type (8, 9, 11 to 14) and a rank, found {}, "
                    "{}, {}, {}{}",
                    input.name(), std::to_integer<int>(magic[0]), std::to_integer<int>(magic[1]),
                    std::to_integer<int>(magic[2]), rank, input.name_note()));
  }
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) dims.push_back(read_extent(input));
  return {*element, false, Shape(std::move(dims))};
}

Array open_idx(const std::string& path) {
  return open_array({path, path, [path] { return open_input(path); }, read_header});
}

}  // namespace

Array read_idx(const std::string& path) {
  const auto input = open_input(path);
  return read_array(*input, read_header(*input));
}

Examples read(const Idx& source) {
  return examples_of(read_files(source.images, read_idx), read_files(source.labels, read_idx));
}

std::vector<Features> open_features(const Idx& source) {
  std::vector<Features> features;
  features.push_back({"", read_files(source.images, open_idx)});
  return features;
}

Examples open(const Idx& source) {
  return examples_of(read_files(source.images, open_idx), read_files(source.labels, open_idx));
}

}  // namespace mirrortrain::data
