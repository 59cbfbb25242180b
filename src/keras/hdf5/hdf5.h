#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/safetensors.h"

namespace mirrortrain::keras {

/// What an HDF5 file holds: its datasets of numbers, and the attributes that are texts.
struct Hdf5Contents {
  StoredTensors datasets;  ///< by path: "layers/dense/vars/0"
  /// Of groups, by path, which is "" for the file's own; a text alone is a list of one.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> texts;

  /// The only text of an attribute; "" if there is none.
  std::string text(const std::string& group, const std::string& attribute) const;
};

/// Reads a file, or one that is in memory, called `name` in messages. Floats of 16 bits become float32, whole numbers
/// int64. Throws Error, naming the file and the dataset at fault, where it is damaged, and where this program was built
/// without HDF5.
Hdf5Contents read_hdf5(const std::filesystem::path& file);
Hdf5Contents read_hdf5(std::span<const std::byte> bytes, const std::string& name);

/// The bytes of a file with these datasets of float32, int32 or int64, and a text attribute `name` of each group that
/// `names` has by its path; groups are made as needed. The same contents give the same bytes.
std::vector<std::byte> write_hdf5(const std::vector<NamedTensor>& datasets,
                                  const std::map<std::string, std::string>& names);

/// Throws Error where this program was built without HDF5. `file`: what is to be read or written.
void require_hdf5(const std::string& file);

}  // namespace mirrortrain::keras
