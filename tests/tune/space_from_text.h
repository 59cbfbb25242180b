#pragma once

#include <string>

#include "config/document.h"
#include "tune/search_space.h"

namespace mirrortrain::tune {

/// Options with keys of numbers, real.a to real.f, and of whole numbers, whole.a to whole.f, and a choice.
struct Reals {
  double a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  static config::Section<Reals> section() {
    return config::Section<Reals>("Numbers.")
        .key("a", &Reals::a, "A.")
        .key("b", &Reals::b, "B.")
        .key("c", &Reals::c, "C.")
        .key("d", &Reals::d, "D.")
        .key("e", &Reals::e, "E.")
        .key("f", &Reals::f, "F.");
  }
};
struct Wholes {
  std::int64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  static config::Section<Wholes> section() {
    return config::Section<Wholes>("Whole numbers.")
        .key("a", &Wholes::a, "A.")
        .key("b", &Wholes::b, "B.")
        .key("c", &Wholes::c, "C.")
        .key("d", &Wholes::d, "D.")
        .key("e", &Wholes::e, "E.")
        .key("f", &Wholes::f, "F.");
  }
};
struct Searched {
  Reals real;
  Wholes whole;
  config::Value any;
  static config::Section<Searched> section() {
    return config::Section<Searched>("Options to search.")
        .key("real", &Searched::real, "Numbers.")
        .key("whole", &Searched::whole, "Whole numbers.")
        .key("any", &Searched::any, "Anything.");
  }
};
struct ParametersAlone {
  config::Map<config::Located<SearchParameter>> parameters;
  static config::Section<ParametersAlone> section() {
    return config::Section<ParametersAlone>("Parameters.").key("parameters", &ParametersAlone::parameters, "All.");
  }
};

/// The space of `parameters`, its entries as lines of YAML; what is wrong with them goes to `errors`.
inline SearchSpace space_from_text(const std::string& parameters, config::Errors& errors) {
  std::string text = "parameters:\n";
  for (std::size_t at = 0; at < parameters.size();) {
    const std::size_t end = parameters.find('\n', at);
    text += "  " + parameters.substr(at, end - at) + "\n";
    at = end == std::string::npos ? parameters.size() : end + 1;
  }
  config::Document document = config::load_text(text, "search.yaml", {}, errors);
  SearchOptions options;
  options.parameters = config::read<ParametersAlone>(document, errors).parameters;
  return {options, config::schema<Searched>(), errors};
}

/// The same, where nothing is wrong. Throws UsageError.
inline SearchSpace space_from_text(const std::string& parameters) {
  config::Errors errors;
  SearchSpace space = space_from_text(parameters, errors);
  errors.throw_if_any();
  return space;
}

}  // namespace mirrortrain::tune
