#include "data/arrays/inline_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/scalar.h"
#include "data/key_aliases.h"

namespace mirrortrain::data {
namespace {

std::vector<std::int64_t> extents_of(const config::Value& value) {
  std::vector<std::int64_t> extents;
  for (const config::Value* at = &value; at->is_sequence(); at = &at->items().front()) {
    extents.push_back(static_cast<std::int64_t>(at->items().size()));
    if (at->items().empty()) break;
  }
  return extents;
}

void read_number(const config::Node& node, InlineArray& out) {
  const auto number = config::as_number(node.value());
  if (!number || !std::isfinite(*number) ||
      std::abs(*number) > static_cast<double>(std::numeric_limits<float>::max())) {
    node.wrong("a finite number that float32 holds");
    return;
  }
  out.elements.push_back(*number);
  out.whole = out.whole && config::as_integer(node.value()).has_value();
}

// All lists of one depth must have the length of the first.
void read_level(const config::Node& node, std::size_t depth, InlineArray& out) {
  if (depth == out.shape.rank()) return read_number(node, out);
  const std::int64_t extent = out.shape[depth];
  if (!node.value().is_sequence() || static_cast<std::int64_t>(node.value().items().size()) != extent) {
    node.wrong(fmt::format("a list of {} as in the first row", extent));
    return;
  }
  const config::Rules rules;
  for (std::size_t i = 0; i < static_cast<std::size_t>(extent); ++i) read_level(node.item(i, rules), depth + 1, out);
}

Array array_of(const InlineArray& source, DType dtype) {
  Array array(dtype, source.shape, source.path);
  with_element_type(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    for (std::size_t i = 0; i < source.elements.size(); ++i) {
      array.span<T>()[i] = static_cast<T>(source.elements[i]);
    }
  });
  return array;
}

/// What is wrong with the weights, or "".
std::string weights_mismatch(const Inline& options) {
  for (const auto& [name, labels] : options.all_labels()) {
    const config::Located<InlineArray>* const weights = options.weights_of(name);
    if (weights == nullptr || weights->value.elements.empty()) continue;
    const InlineArray& numbers = weights->value;
    if (numbers.shape[0] != labels->shape[0] || std::ssize(numbers.elements) != numbers.shape[0]) {
      return fmt::format("expected one weight for each of the {} examples, found the shape {}", labels->shape[0],
                         numbers.shape.text());
    }
    const auto wrong = std::ranges::find_if_not(numbers.elements, is_weight);
    if (wrong != numbers.elements.end()) {
      return fmt::format("expected a weight, which is a number from 0, found {}", *wrong);
    }
  }
  return "";
}

}  // namespace

config::Section<Inline> Inline::section() {
  return config::Section<Inline>("Examples written in the configuration itself, as nested lists.")
      .key("features", &Inline::features, "The features: one number or nested list per example.",
           config::required_unless("inputs", {}), kFeaturesAliases)
      .key("inputs", &Inline::inputs, "In place of `features`: those for each input of the model, as {INPUT: [...]}.",
           config::excludes("features"))
      .key("labels", &Inline::labels,
           "The labels: one number or nested list per example; or those for each output of the model, as "
           "{OUTPUT: [...]}.",
           config::required, kLabelsAliases)
      .key("weights", &Inline::weights,
           meaning_of_weights("The examples' weights, one number for each", "such a value", "[...]"))
      .check("weights", weights_mismatch)
      .check("labels",
             [](const Inline& options) -> std::string {
               if (options.all_inputs().empty()) return "";
               const std::int64_t examples = options.all_inputs().front().second->shape[0];
               for (const auto& [name, labels] : options.all_labels()) {
                 if (labels->shape[0] == examples || examples == 0 || labels->shape[0] == 0)
                   continue;  // has its own error
                 return fmt::format("expected one label{} for each of the {} features, found {}",
                                    name.empty() ? "" : fmt::format(" of '{}'", name), examples, labels->shape[0]);
               }
               return "";
             })
      .check("inputs", [](const Inline& options) -> std::string {
        if (options.inputs.empty()) return "";
        const auto& [first, expected] = options.inputs.entries.front();
        for (const auto& [name, input] : options.inputs.entries) {
          if (input.shape[0] == expected.shape[0] || input.shape[0] == 0 || expected.shape[0] == 0) continue;
          return fmt::format("expected as many examples for '{}' as the {} for '{}', found {}", name, expected.shape[0],
                             first, input.shape[0]);
        }
        return "";
      });
}

namespace {

Array features_array(const InlineArray& source, const std::string&) {
  return narrowed(array_of(source, DType::kFloat64));
}

}  // namespace

std::vector<Features> read_features(const Inline& source) { return read_inputs(source, features_array); }

Examples read(const Inline& source) {
  Examples examples = read_fields(source, [](const InlineArray& array, const std::string&) {
    return array_of(array, array.whole ? DType::kInt64 : DType::kFloat64);
  });
  examples.inputs = read_features(source);
  return examples;
}

}  // namespace mirrortrain::data

void mirrortrain::config::Codec<mirrortrain::data::InlineArray>::read(const Node& node,
                                                                      mirrortrain::data::InlineArray& out) {
  out = {};
  out.written = node.value();
  out.path = node.path();
  const std::vector<std::int64_t> extents = mirrortrain::data::extents_of(node.value());
  if (extents.empty() || extents.back() == 0) {
    node.wrong("a list of numbers or of equally long lists, one item per example");
    return;
  }
  out.shape = Shape(extents);
  mirrortrain::data::read_level(node, 0, out);
}
