#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mirrortrain::data {

/// Where in an archive the bytes of a file begin that is stored uncompressed; nullopt if it is compressed, or if that
/// cannot be determined. Throws Error if the archive cannot be read.
std::optional<std::uint64_t> place_in_zip(const std::string& archive, const std::string& file);

}  // namespace mirrortrain::data
