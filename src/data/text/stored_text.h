#pragma once

#include <cstdint>
#include <string>

#include "data/files/unpacked_files.h"
#include "data/text/text.h"

namespace mirrortrain::data {

/// The bytes that read_windows would take at most. Reads compressed files, whose size is not known otherwise.
std::uint64_t most_bytes_of_windows(const Text& source);

/// How many windows a file of so many tokens has. Throws Error, naming it, if that is none.
std::int64_t windows_in(std::int64_t tokens, const Text& source, const std::string& path);

/// The same windows as read_windows gives, whose rows are read by position: from the files themselves where tokens are
/// bytes and the files plain, else from their bytes or tokens, which are written to `cache` once. Throws as it does.
TokenWindows open_windows(const Text& source, const UnpackedFiles& cache);

}  // namespace mirrortrain::data
