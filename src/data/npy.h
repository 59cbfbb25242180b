#pragma once

#include <string_view>

#include "config/section.h"
#include "data/dataset.h"
#include "data/input.h"

namespace mirrortrain::data {

/// NumPy's files of one array each (numpy.save).
struct Npy {
  static constexpr std::string_view kName = "npy";
  config::Path features, labels;
  static config::Section<Npy> section();
};

/// Reads an array of bool, integers or floats, C or Fortran order, either byte order, from an npy file of version 1
/// to 3. Throws Error for what is truncated, longer than its header says, or of another format.
Array read_npy(Input& input);

Examples read(const Npy& source);

}  // namespace mirrortrain::data
