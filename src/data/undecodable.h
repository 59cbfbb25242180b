#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/example_source.h"

namespace mirrortrain::data {

/// The rows of a source of which no features can be made, ascending, with the reason. Decodes all of them, in so many
/// threads; what came of it is kept in the user's cache folder, where the same files are looked up the next time.
std::vector<std::pair<std::int64_t, std::string>> undecodable(const ExampleSource& source, std::int64_t rows,
                                                              int threads);

}  // namespace mirrortrain::data
