#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/shape.h"

namespace mirrortrain::data {

/// An input of the model for the data.
struct InputLook {
  std::string name{};          ///< empty for the only one of a source that does not name inputs
  Shape shape{};               ///< of one example
  bool is_normalized = false;  ///< whether each feature of a row should be normalized by its mean and variance
  double scale = 1;
  /// Whole numbers from 0 to one less, each of which is to get a vector: ids, or the tokens of a text if there is an
  /// axis; 0: any numbers.
  std::int64_t numbers_below = 0;

  /// Whether examples are pictures large enough for convolutions.
  bool has_pictures() const { return shape.rank() >= 2 && shape[0] >= 8 && shape[1] >= 8; }
};

/// Findings about data for a first configuration by `init`.
struct DataLook {
  std::string train, validation, test;  ///< sources as YAML flow mappings; empty if there are none
  std::vector<std::string> remarks;     ///< on the training data, for comments
  std::int64_t examples = 0;
  std::vector<InputLook> inputs;               ///< at least one
  std::int64_t classes = 0;                    ///< 0: labels are numbers
  std::vector<std::string> names;              ///< of the classes; may be empty
  Shape label;                                 ///< of one example
  bool is_one_hot = false;                     ///< whether labels are vectors with a 1 for the class
  double label_mean = 0, label_deviation = 0;  ///< of labels that are single numbers
  bool skips_bad = false;                      ///< whether some examples are unusable
};

/// The data to look at.
struct FirstLook {
  std::string path;                  ///< or a glob
  std::optional<std::string> label;  ///< a table's column; null: one named label, class, target or y, else the last
  std::filesystem::path folder;      ///< the configuration's, relative to which it names files

  /// The first file that the path means, whose format is that of all.
  std::string first() const;
  /// A file's name as YAML.
  std::string name(const std::string& file) const;
};

/// Whether a file in HDF5 holds data, by the names of its datasets, rather than a model. Throws Error if it cannot be
/// read.
bool is_hdf5_of_data(const std::string& path);

/// Throws UsageError for data of an unknown kind, and Error for broken data.
DataLook look_at_data(const FirstLook& look);

/// A text as a YAML scalar, quoted if necessary.
std::string yaml_text(const std::string& text);

}  // namespace mirrortrain::data
