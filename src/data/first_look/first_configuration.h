#pragma once

#include <string>

#include "data/first_look/look_at_data.h"

namespace mirrortrain::data {

/// The text of a first configuration for the data at `path`, with comments on what was found there.
std::string first_configuration(const std::string& path, const DataLook& look);

}  // namespace mirrortrain::data
