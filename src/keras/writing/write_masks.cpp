#include "keras/writing/write_masks.h"

#include <algorithm>
#include <array>

#include "config/one_of.h"
#include "model/layers.h"

namespace mirrortrain::keras {
namespace {

bool makes_mask(const Layer& layer) {
  const auto* const embedding = embedding_of(layer);
  return (embedding != nullptr && embedding->mask_zero) || config::holds_alternative<layers::MaskByValue>(layer);
}

bool ends_mask(const Layer& layer) {
  return config::visit([](const auto& options) { return options.kMasking == Masking::kEnds; }, layer);
}

}  // namespace

std::vector<bool> layers_with_masks(const KerasExport& what, const std::map<std::string, Shape>& shapes) {
  const Wiring& wiring = what.wiring;
  std::vector<bool> masked;
  for (std::size_t i = 0; i < what.model.layers.size(); ++i) {
    const Layer& layer = what.model.layers[wiring.weights_of[i]].value;
    const auto is_masked = [&](int source) { return !wiring.is_input(source) && masked[wiring.layer_of(source)]; };
    const auto shape = shapes.find(wiring.names[i]);
    const bool has_steps = shape != shapes.end() && shape->second.rank() > 1;
    const bool passes = !ends_mask(layer) && std::ranges::any_of(wiring.sources[i], is_masked);
    masked.push_back(has_steps && (makes_mask(layer) || passes));
  }
  return masked;
}

bool is_name_of_mask_operation(std::string_view layer) {
  constexpr std::array<std::string_view, 8> kOperations = {"concatenate", "not_equal",  "logical_or", "any",
                                                           "expand_dims", "zeros_like", "ones_like",  "broadcast_to"};
  const std::size_t end = layer.find_last_not_of("0123456789");
  if (end != layer.npos && end + 1 < layer.size() && layer[end] == '_') layer = layer.substr(0, end);
  return std::ranges::find(kOperations, layer) != kOperations.end();
}

}  // namespace mirrortrain::keras
