#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/first_look/look_at_data.h"
#include "data/pictures/picture.h"
#include "data/sources/data_options.h"

namespace mirrortrain::data {

// The parts of look_at_data.

/// A .csv, .tsv or .parquet table.
DataLook look_at_table(const FirstLook& at);

/// A size for all pictures, height and width: theirs if all are equal, else a square of about the median height, at
/// most 128. `files`: at least one. Throws Error for a file that is no picture.
std::array<std::int64_t, 2> common_size(const std::vector<std::string>& files);
/// The same for pictures of these sizes.
std::array<std::int64_t, 2> common_size(const std::vector<PictureSize>& sizes);

/// A tar archive of samples.
DataLook look_at_samples(const FirstLook& at);
/// An .npz archive, or an HDF5 file.
DataLook look_at_arrays(const FirstLook& at);
/// An .npy file of features, with its labels beside it.
DataLook look_at_npy(const FirstLook& at);

/// Reads data.train of the options and describes its examples, shapes and classes.
void describe(const DataOptions& options, DataLook& look);

}  // namespace mirrortrain::data
