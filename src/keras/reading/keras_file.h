#pragma once

#include <filesystem>
#include <string>

#include "keras/hdf5/hdf5.h"
#include "keras/json.h"

namespace mirrortrain::keras {

/// A model that Keras saved: its layers, what it was compiled for, and its weights.
struct KerasFile {
  Json model;     ///< serialized: {"class_name": "Functional", "config": {...}}
  Json compiled;  ///< null if it was not
  /// By path; those of an HDF5 file as Keras 2 wrote them are GROUP/ordered/N, with the group that Keras 3 gives a
  /// layer.
  Hdf5Contents weights;
  std::string version;  ///< of Keras; "" if it is not known
};

/// Whether a file is one by its name: .keras, .h5, .hdf5, but not .weights.h5.
bool is_keras_file(const std::filesystem::path& path);
/// Whether it holds weights alone, by its name: .weights.h5.
bool is_weights_file(const std::filesystem::path& path);

/// Reads a .keras archive, or a whole model in .h5. Throws Error, naming the file and what of it is damaged.
KerasFile read_keras_file(const std::filesystem::path& path);

/// The same for an archive, whatever its name.
KerasFile read_keras_archive(const std::string& path);

}  // namespace mirrortrain::keras
