#pragma once

#include <optional>
#include <string>

#include "data/pictures/decoded_pictures.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {

/// The form that an input's pictures get as they are read from their files; nothing if its examples are no such
/// pictures. `columns`: what the input has of a table; null if the source is none. `input`: its name in the model.
std::optional<PictureForm> picture_form(const Source& source, const TableInput* columns, const std::string& input);

}  // namespace mirrortrain::data
