#include "keras/reading/layer_list.h"

#include <fmt/format.h>

#include <utility>

#include "config/scalar.h"

namespace mirrortrain::keras {

using config::Value;

void LayerList::add(const std::string& type, std::vector<Value::Entry> options, const std::string& name,
                    const std::vector<std::string>& inputs) {
  options.push_back({"name", {}, config::text_value(name)});
  if (inputs.size() != 1 || inputs[0] != last) {
    std::vector<Value> values;
    for (const std::string& input : inputs) values.push_back(config::text_value(input));
    options.push_back({"inputs", {}, Value::sequence(std::move(values))});
  }
  items.push_back(Value::mapping({{type, {}, Value::mapping(std::move(options))}}));
  last = name;
}

std::string LayerList::add_unmasked(const std::string& value) {
  std::string& name = unmasked[value];
  if (name.empty()) {
    name = names.unique(value + "_unmasked");
    add("expression", {{"formula", {}, config::text_value("x")}}, name, {value});
  }
  return name;
}

std::string OutputNames::suffix_of_call(const std::string& layer, std::size_t number) const {
  const bool is_first = !first.contains(layer) && !inside.contains(layer);
  return is_first ? "" : fmt::format("_call_{}", number + 1);
}

}  // namespace mirrortrain::keras
