#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/files/file_stamps.h"

namespace mirrortrain::tune {

using FileStates = std::map<std::string, data::FileState>;

/// Of what a configuration names: files, folders with all in them, and globs.
FileStates look_at(const std::vector<std::string>& named);

/// The first file in which both differ; empty if there is none.
std::string first_changed(const FileStates& before, const FileStates& now);

/// The CRC-32 of the contents of all, in the order of their names. Throws SystemError for one that cannot be read.
std::uint32_t checksum_of(const FileStates& files);

}  // namespace mirrortrain::tune
