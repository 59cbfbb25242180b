#include "keras/reading/mask_traits.h"

#include <algorithm>
#include <array>

namespace mirrortrain::keras {
namespace {

constexpr auto kMerges =
    std::to_array<std::string_view>({"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"});
constexpr auto kPassing = std::to_array<std::string_view>(
    {"Dense", "Activation", "ReLU", "LeakyReLU", "PReLU", "ELU", "Identity", "ActivityRegularization",
     "LayerNormalization", "GroupNormalization", "UnitNormalization", "BatchNormalization", "TimeDistributed",
     "SpectralNormalization", "Rescaling", "Normalization"});

}  // namespace

bool merges_masks(std::string_view class_name) { return std::ranges::count(kMerges, class_name) > 0; }

bool passes_mask(std::string_view class_name) { return std::ranges::count(kPassing, class_name) > 0; }

bool is_noise(std::string_view class_name) {
  return class_name.find("Dropout") != class_name.npos || class_name == "GaussianNoise";
}

bool returns_its_input(const NetworkLayer& layer) {
  return layer.class_name == "Identity" ||
         (layer.class_name == "Activation" && at(*layer.config, "activation") == Json("linear"));
}

bool is_of_heads(const NetworkLayer& layer) {
  return layer.class_name == "MultiHeadAttention" || layer.class_name == "GroupedQueryAttention";
}

const Json& inside_of(const NetworkLayer& layer) {
  const auto inside = as_object(at(*layer.config, "layer"));
  return inside ? *inside->config : *layer.config;
}

}  // namespace mirrortrain::keras
