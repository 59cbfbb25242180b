#pragma once

#include <functional>
#include <optional>

#include "data/dataset.h"
#include "data/loading/terms.h"
#include "data/sources/data_options.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {

/// The values adapted to the training data, once known: other splits are read concurrently until they need them.
using AdaptedLater = std::function<const Adapted&()>;

/// Reads a split other than train, of which the words and classes must be those of the training data; nullopt if there
/// is none. Throws Error for data that are missing or broken.
std::optional<Dataset> read_split(const std::optional<Source>& source, const AdaptedLater& adapted, const Terms& terms);
std::optional<Dataset> read_split(const std::optional<Validation>& source, const AdaptedLater& adapted,
                                  const Terms& terms);

}  // namespace mirrortrain::data
