#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/example_source.h"

namespace mirrortrain::data {

/// The rows of a source for which no features can be computed, ascending, with the reason. Decodes all of them, in
/// `threads` threads; the result is cached in the user's cache folder for the same files.
std::vector<std::pair<std::int64_t, std::string>> undecodable(const ExampleSource& source, std::int64_t rows,
                                                              int threads);

}  // namespace mirrortrain::data
