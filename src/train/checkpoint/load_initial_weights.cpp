#include "train/checkpoint/load_initial_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "config/known_names.h"
#include "config/scalar.h"
#include "train/checkpoint/weights.h"
#include "train/checkpoint/weights_file.h"

namespace mirrortrain {
namespace {

/// A tensor in float32 while it changes shape.
struct FloatTensor {
  Shape shape;
  std::vector<float> values;
};

std::vector<float> as_float32(const StoredTensor& tensor) {
  const auto converted = [](auto floats) {
    std::vector<float> values;
    values.reserve(floats.size());
    for (const auto element : floats) values.push_back(static_cast<float>(element));
    return values;
  };
  switch (tensor.dtype) {
    case DType::kFloat32: return converted(tensor.span<float>());
    case DType::kFloat64: return converted(tensor.span<double>());
    case DType::kBfloat16: return converted(tensor.span<bfloat16>());
    default: throw Error(fmt::format("expected floats, found {}", name_of(tensor.dtype)));
  }
}

/// One of the equal parts of a tensor along an axis.
FloatTensor part_of(const FloatTensor& whole, const WeightSource& source) {
  const auto rank = static_cast<std::int64_t>(whole.shape.rank());
  const std::int64_t axis = source.axis < 0 ? source.axis + rank : source.axis;
  if (axis < 0 || axis >= rank || whole.shape[static_cast<std::size_t>(axis)] % source.parts != 0) {
    throw Error(fmt::format("the shape {} cannot be split into {} parts along axis {}", whole.shape.text(),
                            source.parts, source.axis));
  }
  FloatTensor part{whole.shape, {}};
  std::int64_t& extent = part.shape[static_cast<std::size_t>(axis)];
  extent /= source.parts;
  const std::int64_t inner =
      std::accumulate(whole.shape.begin() + axis + 1, whole.shape.end(), extent, std::multiplies{});
  const std::int64_t outer = inner == 0 ? 0 : part.shape.elements() / inner;
  for (std::int64_t i = 0; i < outer; ++i) {
    const auto first = whole.values.begin() + (i * source.parts + source.part) * inner;
    part.values.insert(part.values.end(), first, first + inner);
  }
  return part;
}

FloatTensor transposed(const FloatTensor& from, const std::vector<std::int64_t>& order) {
  const std::size_t rank = from.shape.rank();
  if (order.size() != rank) {
    throw Error(fmt::format("transpose: [{}] has {} axes, the shape {} has {}", fmt::join(order, ", "), order.size(),
                            from.shape.text(), rank));
  }
  std::vector<std::int64_t> strides(rank, 1), steps, extents, at(rank, 0);
  for (std::size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * from.shape[axis];
  for (const std::int64_t axis : order) {
    steps.push_back(strides[static_cast<std::size_t>(axis)]);
    extents.push_back(from.shape[static_cast<std::size_t>(axis)]);
  }
  FloatTensor to{Shape(extents), std::vector<float>(from.values.size())};
  for (float& value : to.values) {
    value =
        from.values[static_cast<std::size_t>(std::inner_product(at.begin(), at.end(), steps.begin(), std::int64_t{0}))];
    for (std::size_t axis = rank; axis-- > 0 && ++at[axis] == extents[axis];) at[axis] = 0;
  }
  return to;
}

/// The products of the leading axes' extents: [4, 6, 5] gives 4, 24, 120.
std::vector<std::int64_t> products(const Shape& shape) {
  std::vector<std::int64_t> all;
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent != 1) all.push_back(product *= extent);
  }
  return all;
}

/// Whether the shapes are equal except that one splits axes of the other.
bool same_but_for_splits(const Shape& a, const Shape& b) {
  if (a.elements() != b.elements()) return false;
  const auto of_a = products(a), of_b = products(b);
  return std::ranges::includes(of_a, of_b) || std::ranges::includes(of_b, of_a);
}

/// Logs a message about these names, if there are any, with the first ones.
void report_some(const std::string& what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  spdlog::info("{}: {}{}", what, fmt::join(names | std::views::take(3), ", "), names.size() > 3 ? ", ..." : "");
}

/// Otherwise a model with fewer layers than the file would go unnoticed.
void report_left_out(const std::string& file, const StoredTensors& stored, const std::set<std::string>& taken) {
  std::vector<std::string> left;
  for (const auto& [name, tensor] : stored) {
    if (!taken.contains(name)) left.push_back(shortened(name, 200));
  }
  report_some(fmt::format("{}: no variable takes {} of its {} tensors", file, left.size(), stored.size()), left);
}

std::vector<std::string> names_of(const StoredTensors& stored) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : stored) names.push_back(name);
  return names;
}

/// The values of the variables that take any. Throws Error with all that does not fit.
InitialValues read_values(const WeightsFile& from, Strategy& strategy) {
  std::set<std::string> names;
  strategy.read_variables(Lasting::kNone, [&](const LastingVariable& one) {
    if (const auto source = source_of(from, one.value.name())) names.insert(source->name);
  });
  const StoredTensors stored = read_weights_file(from.file.text, strategy, names);
  InitialValues values;
  std::vector<std::string> mismatches, initialized;
  std::set<std::string> taken;
  strategy.read_variables(Lasting::kNone, [&](const LastingVariable& one) {
    const DistributedVariable& variable = one.value;
    const std::optional<WeightSource> source = source_of(from, variable.name());
    const auto found = source ? stored.find(source->name) : stored.end();
    if (!source || (found == stored.end() && from.missing == MissingWeights::kInitialize)) {
      initialized.push_back(variable.name());
      return;
    }
    if (found == stored.end()) {
      mismatches.push_back(fmt::format("{} {}: the file has no tensor '{}'{}", variable.name(), variable.shape().text(),
                                       shortened(source->name, 200),
                                       config::suggestion(source->name, names_of(stored))));
      return;
    }
    taken.insert(source->name);
    try {
      values[one.index] = rearranged(found->second, *source, variable.shape());
    } catch (const Error& error) {
      mismatches.push_back(fmt::format("{} from '{}': {}", variable.name(), source->name, error.what()));
    }
  });
  const std::size_t all = values.size() + initialized.size();
  throw_mismatches(
      from.file.text, std::move(mismatches),
      "; correct model.initial_weights.names, where null has a variable keep the value of its initializer");
  if (all == 0) {
    throw Error(
        fmt::format("{}: the model has no variables that could take its tensors; remove model.initial_weights, or add "
                    "layers that have weights",
                    from.file.text));
  }
  if (taken.empty()) {
    throw Error(fmt::format(
        "{}: no variable of the model has a tensor in it, as {} has none; correct "
        "model.initial_weights.names{}",
        from.file.text, initialized.front(), config::suggestion_or_known(initialized.front(), names_of(stored))));
  }
  report_some(fmt::format("{}: {} of {} variables keep the values of their initializers", from.file.text,
                          initialized.size(), all),
              initialized);
  report_left_out(from.file.text, stored, taken);
  return values;
}

}  // namespace

std::vector<float> rearranged(const StoredTensor& tensor, const WeightSource& source, const Shape& wanted) {
  FloatTensor floats{tensor.shape, as_float32(tensor)};
  if (source.parts > 1) floats = part_of(floats, source);
  if (source.transpose) floats = transposed(floats, *source.transpose);
  if (!same_but_for_splits(floats.shape, wanted)) {
    const bool is_turned = floats.shape.rank() == 2 && same_but_for_splits({floats.shape[1], floats.shape[0]}, wanted);
    throw Error(fmt::format("the model has the shape {}, the file {}{}{}", wanted.text(), tensor.shape.text(),
                            floats.shape == tensor.shape ? "" : fmt::format(", which becomes {}", floats.shape.text()),
                            is_turned ? "; add transpose: [1, 0]" : ""));
  }
  return std::move(floats.values);
}

InitialValues read_initial_weights(const InitialWeights& weights, Strategy& strategy) {
  const auto* const path = std::get_if<config::Path>(&weights);
  if (path == nullptr) return read_values(std::get<WeightsFile>(weights), strategy);
  if (is_onnx_file(path->text)) return read_values({*path}, strategy);  // whose other tensors are its graph's constants
  StoredTensors stored = read_weights_file(path->text, strategy);
  require_fit(stored, path->text, strategy,
              "; where they are those of a part of it, write model.initial_weights: {file: ..., missing: "
              "initialize}, with names: {VARIABLE: null} for a variable of another shape");
  InitialValues values;
  strategy.read_variables(Lasting::kNone, [&](const LastingVariable& variable) {
    const auto tensor = stored.find(variable.value.name());
    const auto elements = tensor->second.span<float>();
    values[variable.index] = {elements.begin(), elements.end()};
    stored.erase(tensor);  // so that no memory has to hold all of them twice
  });
  return values;
}

void load_initial_weights(const InitialWeights& weights, Strategy& strategy) {
  const InitialValues values =
      strategy.topology().is_chief() ? read_initial_weights(weights, strategy) : InitialValues();
  strategy.change_variables(Lasting::kValues, [&](const LastingVariable& variable) {
    const auto found = values.find(variable.index);
    if (found != values.end()) variable.value.set(std::as_bytes(std::span(found->second)).data());
  });
}

}  // namespace mirrortrain
