#pragma once

#include <memory>
#include <string>

#include "data/files/unpacked_files.h"

namespace mirrortrain::data {

/// The bytes of a compressed file, as open_input gives them, in a file of the folder. Throws Error as both do.
std::shared_ptr<const UnpackedFile> unpack_input(const std::string& path, const UnpackedFiles& cache);

}  // namespace mirrortrain::data
