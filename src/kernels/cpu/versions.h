#pragma once

#include <string>

namespace mirrortrain::cpu {

/// The version of the loaded oneDNN: "2.6.3".
std::string onednn_version();

}  // namespace mirrortrain::cpu
