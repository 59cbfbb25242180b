#pragma once

#include <string>

#include "data/first_look/look_at_data.h"

namespace mirrortrain::data {

/// The transforms of a first configuration, as the lines of `data.preprocessing`; empty if there are none.
std::string first_preprocessing(const DataLook& look);

/// The section `model` of a first configuration. Every input has a few layers for what it is: convolutions for
/// pictures, an embedding for ids and texts; the last layers are for all of them together.
std::string first_model(const DataLook& look);

}  // namespace mirrortrain::data
