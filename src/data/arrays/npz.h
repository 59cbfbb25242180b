#pragma once

#include <string>
#include <string_view>

#include "config/section.h"
#include "data/dataset.h"
#include "data/fields.h"
#include "data/files/file_list.h"

namespace mirrortrain::data {

/// NumPy archives of named arrays (numpy.savez, savez_compressed).
struct Npz : FieldsByName<std::string> {
  static constexpr std::string_view kName = "npz";
  Files file;
  Npz();  ///< features are x and labels y
  static config::Section<Npz> section();
};

Examples read(const Npz& source);
/// Reads only the features, for new archives, which need not have labels.
std::vector<Features> read_features(const Npz& source);

}  // namespace mirrortrain::data
