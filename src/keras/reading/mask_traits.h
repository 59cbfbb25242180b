#pragma once

#include <string_view>

#include "keras/json.h"
#include "keras/reading/network.h"

namespace mirrortrain::keras {

// What a layer of Keras does with masks of padding, by its class (keras/src/layers).

/// Whether it makes one mask of its inputs'.
bool merges_masks(std::string_view class_name);
/// Whether it hands on the mask of its first input, and computes each step by itself.
bool passes_mask(std::string_view class_name);
/// Whether it returns its input itself, with its mask, in prediction.
bool is_noise(std::string_view class_name);
/// Whether its output always is its input, one tensor with one mask.
bool returns_its_input(const NetworkLayer& layer);
/// Whether it is attention that can leave its query's mask unused here.
bool is_of_heads(const NetworkLayer& layer);

/// The config of the layer inside of a wrapper; else the layer's own.
const Json& inside_of(const NetworkLayer& layer);

}  // namespace mirrortrain::keras
