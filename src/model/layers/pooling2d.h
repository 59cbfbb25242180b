#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "graph/ops/pool2d.h"
#include "model/key_aliases.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/padding.h"

namespace mirrortrain::layers {

/// The options of layers that slide a window over images.
struct Pool2dOptions : LayerCommon {
  std::array<std::int64_t, 2> pool_size{2, 2};
  std::optional<std::array<std::int64_t, 2>> strides;  ///< null: pool_size
  ops::Padding padding = ops::Padding::kValid;

  ops::Pool2dAttributes attributes() const { return {pool_size, strides.value_or(pool_size), padding}; }

  static config::Section<Pool2dOptions> section() {
    using config::at_least, config::at_most, config::scalar_fills;
    return config::Section<Pool2dOptions>("A pooling window over images.")
        .key("pool_size", &Pool2dOptions::pool_size, "Height and width of the pooling window, or one number.",
             scalar_fills, at_least(1), at_most(kLongestWindow), config::aliases("pool, kernel_size, size"))
        .key("strides", &Pool2dOptions::strides, "Strides along height and width, or one number; null: pool_size.",
             scalar_fills, at_least(1), at_most(kLongestWindow), kStridesAliases)
        .key("padding", &Pool2dOptions::padding,
             "valid: no padding; same: padded so that with stride 1 the output has the size of the input.")
        .include<LayerCommon>();
  }
};

/// [height, width, channels] -> [height', width', channels]: the maximum of each window.
struct MaxPooling2d : Pool2dOptions {
  static constexpr std::string_view kName = "max_pooling2d";
  static constexpr std::string_view kAliases = "max_pool, max_pool2d";
  static constexpr auto kAdvice = std::to_array<config::Advice>(
      {{"max_pooling1d, max_pool1d, average_pooling1d, avg_pool1d",
        "for STEPS of FEATURES numbers write reshape: {target_shape: [STEPS, 1, FEATURES]}, max_pooling2d or "
        "average_pooling2d with pool_size: [2, 1], and reshape: {target_shape: [-1, FEATURES]}"}});

  static config::Section<MaxPooling2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// [height, width, channels] -> [height', width', channels]: the mean of each window; padding does not count.
struct AveragePooling2d : Pool2dOptions {
  static constexpr std::string_view kName = "average_pooling2d";
  static constexpr std::string_view kAliases = "avg_pool2d, average_pool2d";

  static config::Section<AveragePooling2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The options of layers that pool whole images.
struct GlobalPoolOptions : LayerCommon {
  static constexpr bool kOptionsSetRank = true;
  bool keepdims = false;

  static config::Section<GlobalPoolOptions> section() {
    return config::Section<GlobalPoolOptions>("A pooling of everything.")
        .key("keepdims", &GlobalPoolOptions::keepdims, "Whether the axes that are pooled stay, with one element.")
        .include<LayerCommon>();
  }

 protected:
  /// `pooled`, [channels], with `axes` leading axes of 1 if they are kept.
  ValueId finished(LayerBuilder& builder, ValueId pooled, std::size_t axes) const;
};

/// [height, width, channels] -> [channels]: the mean over height and width.
struct GlobalAveragePooling2d : GlobalPoolOptions {
  static constexpr std::string_view kName = "global_average_pooling2d";
  static constexpr std::string_view kAliases =
      "adaptive_avg_pool2d, global_avg_pool2d, global_average_pool2d, global_avg_pool, gap";

  static config::Section<GlobalAveragePooling2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// [height, width, channels] -> [channels]: the maximum over height and width.
struct GlobalMaxPooling2d : GlobalPoolOptions {
  static constexpr std::string_view kName = "global_max_pooling2d";
  static constexpr std::string_view kAliases = "global_max_pool";
  static config::Section<GlobalMaxPooling2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// [steps, channels] -> [channels]: the mean over the time steps, without masked ones.
struct GlobalAveragePooling1d : GlobalPoolOptions {
  static constexpr std::string_view kName = "global_average_pooling1d";
  static constexpr Masking kMasking = Masking::kOwn;

  static config::Section<GlobalAveragePooling1d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
