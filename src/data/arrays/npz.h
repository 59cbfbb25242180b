#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/section.h"
#include "data/dataset.h"
#include "data/fields.h"
#include "data/files/file_list.h"

namespace mirrortrain::data {

/// The array of an output's labels, of which some may be missing: NaN.
struct LabelArray {
  std::string array;
  MissingLabel missing = MissingLabel::kError;
  static config::Section<LabelArray> section();
  bool operator==(const LabelArray&) const = default;
};
using NpzLabels = std::variant<std::string, LabelArray>;
const std::string& where(const NpzLabels& labels);

/// NumPy archives of named arrays (numpy.savez, savez_compressed).
struct Npz : FieldsByName<std::string, NpzLabels> {
  static constexpr std::string_view kName = "npz";
  Files file;
  std::optional<std::string> prefix{};  ///< what the arrays' names begin with, in an archive of all splits
  Npz();                                ///< features are x and labels y; with a prefix images and labels
  static config::Section<Npz> section();
};

Examples read(const Npz& source);
// Those that open read no more than the arrays' headers: what is not in memory then is read by position.

Examples open(const Npz& source);
std::vector<Features> open_features(const Npz& source);

/// Reads only the features, for new archives, which need not have labels.
std::vector<Features> read_features(const Npz& source);
/// Reads the labels of those outputs that have an array, in all of the archives.
std::vector<Labels> read_labels(const Npz& source);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::NpzLabels> {
  static constexpr std::string_view noun = "an array's name, or {array: ..., missing: ...}";
};
