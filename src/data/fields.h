#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/by_name.h"
#include "data/dataset.h"
#include "data/key_error.h"

namespace mirrortrain::data {

/// The names that a source gives to what it reads; one empty name where it gives none.
struct FieldNames {
  std::vector<std::string> inputs, outputs;
};

/// Those that a source's `inputs` and `labels` have.
template <class Input, class Label>
FieldNames names_of_fields(const config::Map<Input>& inputs, const config::ByName<Label>& labels) {
  FieldNames names;
  for (const auto& [name, input] : inputs.entries) names.inputs.push_back(name);
  if (names.inputs.empty()) names.inputs.emplace_back();
  if (labels.one) names.outputs.emplace_back();
  for (const auto& [name, label] : labels.named.entries) names.outputs.push_back(name);
  return names;
}

/// Of a source's `weights`, those for an output of the model; null if its examples count alike. `output`: empty for the
/// only one.
template <class T>
const config::Located<T>* find_weights(const std::optional<config::ByName<config::Located<T>>>& weights,
                                       std::string_view output) {
  if (!weights) return nullptr;
  return output.empty() ? weights->only() : weights->find(output);
}

/// How an example without a label is handled.
enum class MissingLabel : std::uint8_t {
  kError,
  kIgnore,  ///< it counts nothing for the output
};

/// What a format reads for each input and output, as it is written: `features`, or `inputs` by the names of the
/// model's, and `labels` and `weights`, which may be by the names of the model's outputs. T says where one of them is:
/// an array's name, a file; L where labels are, and whether any may be missing.
template <class T, class L = T>
struct FieldsByName {
  std::optional<T> features;
  config::Map<T> inputs;
  config::ByName<L> labels;
  std::optional<config::ByName<config::Located<T>>> weights;  ///< null: all examples count alike

  /// By name, empty for `features`; the order is the file's.
  std::vector<std::pair<std::string, const T*>> all_inputs() const {
    std::vector<std::pair<std::string, const T*>> all;
    for (const auto& [name, input] : inputs.entries) all.emplace_back(name, &input);
    if (all.empty() && features) all.emplace_back("", &*features);
    return all;
  }
  std::vector<std::pair<std::string, const L*>> all_labels() const {
    std::vector<std::pair<std::string, const L*>> all;
    if (labels.one) all.emplace_back("", &*labels.one);
    for (const auto& [name, label] : labels.named.entries) all.emplace_back(name, &label);
    return all;
  }
  /// The weights of an output's examples; null if all count alike. `output`: empty for the only one.
  const config::Located<T>* weights_of(std::string_view output) const { return find_weights(weights, output); }
  /// Whether examples may have no label for an output.
  bool may_lack_labels(std::string_view output) const {
    if constexpr (std::same_as<T, L>)
      return false;
    else {
      const L* const found = labels.find(output);
      return found != nullptr && ignores_missing(*found);
    }
  }
  FieldNames field_names() const { return names_of_fields(inputs, labels); }
};

/// Whether examples may have no label: as the labels' `missing` says, where they have one.
template <class... Ts>
bool ignores_missing(const std::variant<Ts...>& labels) {
  return std::visit(
      [](const auto& held) {
        if constexpr (requires { held.missing; }) return held.missing == MissingLabel::kIgnore;
        return false;
      },
      labels);
}

/// The meaning of a source's `weights`. `where`: of one output; `others` and `form`: "such a value", "FILE".
std::string meaning_of_weights(std::string_view where, std::string_view others, std::string_view form);
/// The meaning of `missing` of labels in arrays.
inline constexpr std::string_view kMissingNaN =
    "How an example whose label is NaN is handled: `error`, or `ignore`, with which it counts nothing in the output's "
    "loss and metrics.";

/// Whether a number may be the weight of an example: from 0, and one of float32.
bool is_weight(double number);

/// From now on an example whose label is not a number has none; of labels that take more bytes than are held, from
/// find_missing on.
void allow_missing(Labels& labels);
/// Finds which labels are missing, if that is not known yet: of those in memory, and of those read by position, which
/// are read once.
void find_missing(Labels& labels);
/// Labels of no more bytes are an index, which is held.
inline constexpr std::size_t kMostBytesOfIndex = 16;
/// The numbers as weights of the examples. Throws Error, naming the row, for numbers that are no weights.
Array weights_in(Array numbers, const Array& labels);

/// Calls `read`; adds the key to its errors.
template <class Read>
auto read_below(const std::string& key, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw ErrorBelow(key, error.what());
  }
}

/// Calls read(T, key), which returns an Array, for each input and output. `key`: "features", "inputs.NAME", "labels",
/// "labels.NAME", "weights" or "weights.NAME", for messages. Throws ErrorBelow.
template <class T, class L, class Read>
std::vector<Features> read_inputs(const FieldsByName<T, L>& fields, const Read& read) {
  std::vector<Features> inputs;
  for (const auto& named : fields.all_inputs()) {
    const T& input = *named.second;
    const std::string key = named.first.empty() ? "features" : "inputs." + named.first;
    inputs.push_back({named.first, read_below(key, [&] { return read(input, key); })});
  }
  return inputs;
}
template <class T, class L, class Read>
std::vector<Labels> read_outputs(const FieldsByName<T, L>& fields, const Read& read) {
  std::vector<Labels> outputs;
  for (const auto& named : fields.all_labels()) {
    const std::string& name = named.first;
    const L& written = *named.second;
    const std::string key = name.empty() ? "labels" : "labels." + name;
    Labels labels{name, {}};
    read_below(key, [&] {
      if constexpr (std::same_as<T, L>) {
        labels.array = read(written, key);
      } else {
        labels.array = read(where(written), key);
        if (ignores_missing(written)) allow_missing(labels);
      }
    });
    if (const config::Located<T>* const weights = fields.weights_of(name)) {
      const std::string of_weights = fields.weights->one ? "weights" : "weights." + name;
      labels.weights =
          read_below(of_weights, [&] { return weights_in(read(weights->value, of_weights), labels.array); });
    }
    outputs.push_back(std::move(labels));
  }
  return outputs;
}
template <class T, class L, class Read>
Examples read_fields(const FieldsByName<T, L>& fields, const Read& read) {
  return {read_inputs(fields, read), read_outputs(fields, read)};
}

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::MissingLabel> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::MissingLabel>>(
      {{"error", mirrortrain::data::MissingLabel::kError}, {"ignore", mirrortrain::data::MissingLabel::kIgnore}});
};
