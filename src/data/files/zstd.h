#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/files/inflate.h"

namespace mirrortrain::data {

/// Whether bytes begin as zstd's do. `beginning`: at least four bytes.
bool is_zstd(std::string_view beginning);

/// The bytes that zstd made those of another source from: any number of frames, their checksums verified. Throws Error
/// where this program was built without zstd.
std::unique_ptr<Input> open_zstd(std::string name, InflateInput::ReadCompressed read_compressed,
                                 std::uint64_t compressed_bytes);

}  // namespace mirrortrain::data
