#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/files/inflate.h"

namespace mirrortrain::data {

/// Whether bytes begin as zstd's do. `beginning`: at least four bytes.
bool is_zstd(std::string_view beginning);

/// The bytes that zstd made those of another source from: any number of frames, their checksums verified.
/// `returns_at_once`: whether `read` returns what it has, rather than waiting for more of the source, which may be a
/// pipe. Throws Error where this program was built without zstd.
std::unique_ptr<Input> open_zstd(std::string name, InflateInput::ReadCompressed read_compressed,
                                 std::uint64_t compressed_bytes, bool returns_at_once = false);

}  // namespace mirrortrain::data
