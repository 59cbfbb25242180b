#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"
#include "data/dataset.h"
#include "data/fields.h"
#include "data/files/file_list.h"

namespace mirrortrain::data {

/// The dataset of an output's labels, of which some may be missing: NaN.
struct LabelDataset {
  std::string dataset;
  MissingLabel missing = MissingLabel::kError;
  static config::Section<LabelDataset> section();
};
using Hdf5Labels = std::variant<std::string, LabelDataset>;
const std::string& where(const Hdf5Labels& labels);

/// Datasets of numbers in HDF5 files.
struct Hdf5 : FieldsByName<std::string, Hdf5Labels> {
  static constexpr std::string_view kName = "hdf5";
  static constexpr std::string_view kAliases = "h5, h5py";
  Files file;
  static config::Section<Hdf5> section();
};

// Those that open read what describes the datasets: what is not in memory then is read by position. Throws Error,
// naming file and dataset, for datasets that do not exist, that have no numbers, or are stored in a way that cannot be
// read, and where this program cannot read HDF5.

Examples open(const Hdf5& source);
std::vector<Features> open_features(const Hdf5& source);
Examples read(const Hdf5& source);

/// The paths of the datasets in a file, at most a hundred.
std::vector<std::string> hdf5_datasets(const std::string& file);

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::data::Hdf5Labels> {
  static constexpr std::string_view noun = "a dataset's name, or {dataset: ..., missing: ...}";
};
