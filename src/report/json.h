#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mirrortrain::report {

/// JSON on one line, as in `{"step": 1, "loss": 0.5}`: a space after colon and comma, numbers in full precision, NaN
/// and infinity, which JSON lacks, as null.
std::string json_line(const nlohmann::ordered_json& value);

}  // namespace mirrortrain::report
