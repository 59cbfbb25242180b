#pragma once

#include <cstdint>

namespace mirrortrain {

/// Allows this process to have so many files and connections open, or as many as the system lets it have. Returns how
/// many it may have then.
std::uint64_t allow_open_files(std::uint64_t wanted);

}  // namespace mirrortrain
