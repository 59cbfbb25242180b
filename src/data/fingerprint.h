#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace mirrortrain::data {

/// Identifies a data set without sending it: "54000 examples, labels 1f3a9c02, features 77b01e55". The sums are CRC-32C
/// of all labels and features, computed by several threads; for pictures, of their files' bytes, which are read unless
/// a checksum of the same files (names, sizes, times, inodes) is cached. Rows that are read by position have the sums
/// of the same rows in memory. For pictures of more than 4 GiB: of all stored sizes, and of 4096 of them, evenly
/// spaced. Throws Error for pictures that cannot be read.
std::string fingerprint(const Dataset& dataset);
/// What the parts of its fingerprint are of, in their order: "the labels of 'rating' (ratings.csv)".
std::vector<std::string> parts_of_fingerprint(const Dataset& dataset);
/// ", in the labels of 'rating' (ratings.csv)": the parts in which two fingerprints differ; "" where none does.
std::string different_parts(std::string_view before, std::string_view now, const std::vector<std::string>& parts);

}  // namespace mirrortrain::data
