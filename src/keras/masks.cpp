#include "keras/masks.h"

#include <algorithm>

namespace mirrortrain::keras {

bool makes_masks(const Json& json) {
  if (text_at(json, "class_name") == "Masking" || at(json, "mask_zero") == Json(true)) return true;
  return json.is_structured() && std::ranges::any_of(json, makes_masks);
}

void check_masks(const Network& network, Problems& problems) {
  const auto makes_mask = [](const NetworkLayer& layer) {
    return layer.class_name == "Masking" || at(*layer.config, "mask_zero") == Json(true) || layer.is_network();
  };
  const bool has_maker = std::ranges::any_of(network.layers, makes_mask);
  for (const NetworkLayer& layer : network.layers) {
    for (const Call& call : layer.calls) {
      for (const Tensor& mask : call.masks) {
        const NetworkLayer* const from = network.find(mask.layer);
        if (has_maker && from != nullptr && from->is_operation()) continue;
        problems.add(layer.described(),
                     "is called with a mask of your own; here masks come of mask_zero of an embedding, "
                     "or of a masking layer");
      }
    }
  }
}

}  // namespace mirrortrain::keras
