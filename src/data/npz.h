#pragma once

#include <string>
#include <string_view>

#include "config/section.h"
#include "data/dataset.h"

namespace mirrortrain::data {

/// NumPy's archives of named arrays (numpy.savez, savez_compressed).
struct Npz {
  static constexpr std::string_view kName = "npz";
  config::Path file;
  std::string features = "x", labels = "y";  ///< names of arrays
  static config::Section<Npz> section();
};

Examples read(const Npz& source);

}  // namespace mirrortrain::data
