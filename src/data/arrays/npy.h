#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/shape.h"
#include "config/section.h"
#include "data/arrays/array_file.h"
#include "data/dataset.h"
#include "data/fields.h"
#include "data/files/file_list.h"
#include "data/files/input.h"

namespace mirrortrain::data {

/// The files of an output's labels, of which some may be missing: NaN.
struct LabelFiles {
  Files file;
  MissingLabel missing = MissingLabel::kError;
  static config::Section<LabelFiles> section();
};
using NpyLabels = std::variant<config::Path, std::vector<config::Path>, LabelFiles>;
Files where(const NpyLabels& labels);

/// NumPy files with one array each (numpy.save).
struct Npy : FieldsByName<Files, NpyLabels> {
  static constexpr std::string_view kName = "npy";
  static config::Section<Npy> section();
};

using NpyHeader = ArrayHeader;

/// Parses {'descr': '<f4', 'fortran_order': False, 'shape': (60, 4), }. Throws Error, beginning with `name`, for
/// anything else, and for element types other than bool, integers and floats.
NpyHeader parse_npy_header(std::string_view text, const std::string& name);

/// Reads an array of bool, integers or floats, C or Fortran order, either byte order, from an npy file of version 1 to
/// 3. Throws Error for files that are truncated, longer than announced by their header, or of another format.
Array read_npy(Input& input);
/// Reads the header alone, with the same checks.
NpyHeader read_npy_header(Input& input);

// Those that open read no more than the headers: what is not in memory then is read by position.

Examples open(const Npy& source);
std::vector<Features> open_features(const Npy& source);
Examples read(const Npy& source);
/// Reads only the features, for new files without labels.
std::vector<Features> read_features(const Npy& source);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::NpyLabels> {
  static constexpr std::string_view noun = "a path, a glob, a list of them, or {file: ..., missing: ...}";
};
