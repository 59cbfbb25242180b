#pragma once

#include <string_view>

#include "config/section.h"
#include "data/dataset.h"
#include "data/files/file_list.h"

namespace mirrortrain::data {

/// The format of MNIST: a magic number with type and rank, the extents, the elements, big-endian. Gzip or plain.
struct Idx {
  static constexpr std::string_view kName = "idx";
  static constexpr std::string_view kAliases = "mnist";
  Files images, labels;
  static config::Section<Idx> section();
};

/// Throws Error for files that are missing, truncated, longer than announced by their header, or of another format.
Array read_idx(const std::string& path);

Examples read(const Idx& source);
// Those that open read no more than the headers: what is not in memory then is read by position.

Examples open(const Idx& source);
std::vector<Features> open_features(const Idx& source);

}  // namespace mirrortrain::data
