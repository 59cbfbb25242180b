#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace mirrortrain {

class ServedModel;

/// A page to try a model in a browser, which the build embeds. It loads nothing but what this server has, asks it for
/// `page_model` and for predictions, and gives a token that is typed.
extern const std::string_view kServePage;
/// What a browser may do for it (Content-Security-Policy).
inline constexpr std::string_view kServePagePolicy =
    "default-src 'none'; connect-src 'self'; img-src blob: data:; style-src 'unsafe-inline'; script-src "
    "'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What the page shows of a model: its "name", "inputs" (name, kind of control, shape, columns) and "outputs" (name,
/// layer that it is of, whether they are probabilities, names of classes).
nlohmann::ordered_json page_model(const ServedModel& model);

}  // namespace mirrortrain
