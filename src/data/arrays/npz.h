#pragma once

#include <string>
#include <string_view>

#include "config/section.h"
#include "data/dataset.h"
#include "data/files/file_list.h"

namespace mirrortrain::data {

/// NumPy's archives of named arrays (numpy.savez, savez_compressed).
struct Npz {
  static constexpr std::string_view kName = "npz";
  Files file;
  std::string features = "x", labels = "y";  ///< names of arrays
  static config::Section<Npz> section();
};

Examples read(const Npz& source);
/// The features alone, of new archives, which need have no labels.
Array read_features(const Npz& source);

}  // namespace mirrortrain::data
