#pragma once

#include <string_view>

#include "config/rules.h"

namespace mirrortrain::data {

// What other libraries call keys that several formats have. Those of one alone are beside it.
inline constexpr auto kFeaturesAliases = config::aliases("x, inputs, images");
inline constexpr auto kLabelsAliases = config::aliases("y, target, targets, label");
inline constexpr auto kFileAliases = config::aliases("path, filename, csv");
inline constexpr auto kImageSizeAliases = config::aliases("target_size, size");
inline constexpr auto kColorAliases = config::aliases("color_mode");
inline constexpr auto kInterpolationAliases = config::aliases("mode");

// The splits, which callbacks name, too.
inline constexpr std::string_view kTrainAliases = "training, training_data";
inline constexpr std::string_view kValidationAliases = "val, valid, validation_data, validation_split, val_split, dev";

}  // namespace mirrortrain::data
