#pragma once

namespace mirrortrain {

/// The program's: "0.1.0".
extern const char* const kVersion;

}  // namespace mirrortrain
