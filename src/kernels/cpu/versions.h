#pragma once

#include <string>

namespace mirrortrain::cpu {

/// Of the oneDNN that is loaded: "2.6.3".
std::string onednn_version();

}  // namespace mirrortrain::cpu
