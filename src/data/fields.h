#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/by_name.h"
#include "data/dataset.h"

namespace mirrortrain::data {

/// The names that a source gives to what it reads; one empty name where it gives none.
struct FieldNames {
  std::vector<std::string> inputs, outputs;
};

/// What a format reads for each input and output, as it is written: `features`, or `inputs` by the names of the
/// model's, and `labels`, which may be by the names of the model's outputs. T says where one of them is: an array's
/// name, a file.
template <class T>
struct FieldsByName {
  std::optional<T> features;
  config::Map<T> inputs;
  config::ByName<T> labels;

  /// By name, empty for `features`; the order is the file's.
  std::vector<std::pair<std::string, const T*>> all_inputs() const {
    std::vector<std::pair<std::string, const T*>> all;
    for (const auto& [name, input] : inputs.entries) all.emplace_back(name, &input);
    if (all.empty() && features) all.emplace_back("", &*features);
    return all;
  }
  std::vector<std::pair<std::string, const T*>> all_labels() const {
    std::vector<std::pair<std::string, const T*>> all;
    if (labels.one) all.emplace_back("", &*labels.one);
    for (const auto& [name, label] : labels.named.entries) all.emplace_back(name, &label);
    return all;
  }
  FieldNames field_names() const {
    FieldNames names;
    for (const auto& [name, input] : inputs.entries) names.inputs.push_back(name);
    if (names.inputs.empty()) names.inputs.emplace_back();
    for (const auto& [name, label] : all_labels()) names.outputs.push_back(name);
    return names;
  }
};

/// Calls read(T, key), which returns an Array, for each input and output. `key`: "features", "inputs.NAME", "labels" or
/// "labels.NAME", for messages.
template <class T, class Read>
std::vector<Features> read_inputs(const FieldsByName<T>& fields, const Read& read) {
  std::vector<Features> inputs;
  for (const auto& [name, input] : fields.all_inputs()) {
    inputs.push_back({name, read(*input, name.empty() ? "features" : "inputs." + name)});
  }
  return inputs;
}
template <class T, class Read>
Examples read_fields(const FieldsByName<T>& fields, const Read& read) {
  Examples examples{read_inputs(fields, read), {}};
  for (const auto& [name, label] : fields.all_labels()) {
    examples.outputs.push_back({name, read(*label, name.empty() ? "labels" : "labels." + name)});
  }
  return examples;
}

}  // namespace mirrortrain::data
