#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "config/codec.h"
#include "keras/options.h"

namespace mirrortrain::keras {

/// Of a choice's value: the options of its type, and this.
struct Chosen {
  std::string name;
  config::Value options;
  const config::Schema* type;
};

template <class Choice>
Chosen chosen_options(const Choice& choice) {
  const config::Schema& schema = schema_of<Choice>();
  config::Value value = config::Codec<Choice>::show(choice);
  Chosen result{"", config::Value::mapping({}), nullptr};
  if (value.is_scalar()) {
    result.name = value.text();
  } else if (!schema.tag.empty()) {
    result.name = value.find(schema.tag)->value.text();
    result.options = std::move(value);
  } else {
    result.name = value.entries().front().key;
    result.options = value.entries().front().value;
  }
  result.type = &*std::ranges::find(schema.parts, result.name, &config::Schema::name);
  return result;
}

}  // namespace mirrortrain::keras
