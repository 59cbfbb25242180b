#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tune/search_space.h"

namespace mirrortrain::tune {

/// A trial that another program asks for.
struct TrialRequest {
  Point point;
  std::int64_t epochs = 0;  ///< 0: as the configuration says
};

/// From {"parameters": {KEY: VALUE, ...}, "epochs": 3}. Every parameter whose conditions hold needs a value, one of
/// its own: a number of its range, on its steps but for the error of a sum, or one of the listed values, of which a
/// section may also be its YAML on one line. `epochs` is optional; `most_epochs` is its default and its limit, nullopt
/// where trials have no number of epochs that could be set. Throws UsageError naming the key.
TrialRequest trial_request_from(const nlohmann::ordered_json& line, const SearchSpace& space,
                                std::optional<std::int64_t> most_epochs);

}  // namespace mirrortrain::tune
