#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "graph/ops/window.h"
#include "model/key_aliases.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/padding.h"

namespace mirrortrain::layers {

/// The options of layers that slide a window over the `kAxes` axes before the channels.
template <std::size_t kAxes>
struct PoolOptions : LayerCommon {
  std::array<std::int64_t, kAxes> pool_size = ops::filled<kAxes>(2);
  std::optional<std::array<std::int64_t, kAxes>> strides;  ///< null: pool_size
  ops::Padding padding = ops::Padding::kValid;

  static config::Section<PoolOptions> section() {
    using config::at_least, config::at_most, config::scalar_fills;
    constexpr auto kSize =
        by_axes<kAxes>("Length of the pooling window.", "Height and width of the pooling window, or one number.",
                       "Depth, height and width of the pooling window, or one number.");
    constexpr auto kStrides = by_axes<kAxes>("Stride of the window; null: pool_size.",
                                             "Strides along height and width, or one number; null: pool_size.",
                                             "Strides along depth, height and width, or one number; null: pool_size.");
    return config::Section<PoolOptions>("A pooling window.")
        .key("pool_size", &PoolOptions::pool_size, kSize, scalar_fills, at_least(1), at_most(kLongestWindow),
             config::aliases("pool, kernel_size, size"))
        .key("strides", &PoolOptions::strides, kStrides, scalar_fills, at_least(1), at_most(kLongestWindow),
             kStridesAliases)
        .key("padding", &PoolOptions::padding,
             "valid: no padding; same: padded so that with stride 1 the output has the size of the input.",
             config::aliases("pad"))
        .template include<LayerCommon>();
  }

 protected:
  /// Throws Error if a window does not fit.
  void check_windows(LayerBuilder& builder, ValueId source) const;
};

/// The maximum of each window. Along several axes of volumes it is the maximum along one axis after the other.
template <std::size_t kAxes>
struct MaxPooling : PoolOptions<kAxes> {
  static constexpr std::string_view kName = by_axes<kAxes>("max_pooling1d", "max_pooling2d", "max_pooling3d");
  static constexpr std::string_view kAliases = by_axes<kAxes>("max_pool1d", "max_pool, max_pool2d", "max_pool3d");
  static config::Section<MaxPooling> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The mean of each window; padding does not count.
template <std::size_t kAxes>
struct AveragePooling : PoolOptions<kAxes> {
  static constexpr std::string_view kName =
      by_axes<kAxes>("average_pooling1d", "average_pooling2d", "average_pooling3d");
  static constexpr std::string_view kAliases =
      by_axes<kAxes>("avg_pool1d, average_pool1d", "avg_pool2d, average_pool2d", "avg_pool3d, average_pool3d");
  static config::Section<AveragePooling> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The options of layers whose windows follow from the size of their output: along an axis of n elements, element i of
/// `size` has those from floor(i n / size) to ceil((i + 1) n / size), which may overlap.
template <std::size_t kAxes>
struct AdaptivePoolOptions : LayerCommon {
  std::array<std::int64_t, kAxes> output_size = ops::filled<kAxes>(1);

  static config::Section<AdaptivePoolOptions> section() {
    using config::at_least, config::at_most, config::scalar_fills, config::required;
    constexpr auto kSize =
        by_axes<kAxes>("Number of steps of the output.", "Height and width of the output, or one number.",
                       "Depth, height and width of the output, or one number.");
    return config::Section<AdaptivePoolOptions>("Windows that divide the input among the output's elements.")
        .key("output_size", &AdaptivePoolOptions::output_size, kSize, required, scalar_fills, at_least(1),
             at_most(kLargestOutput))
        .template include<LayerCommon>();
  }

 private:
  static constexpr std::int64_t kLargestOutput = 1024;  ///< each window is nodes of the graph
};

template <std::size_t kAxes>
struct AdaptiveMaxPooling : AdaptivePoolOptions<kAxes> {
  static constexpr std::string_view kName =
      by_axes<kAxes>("adaptive_max_pooling1d", "adaptive_max_pooling2d", "adaptive_max_pooling3d");
  static constexpr std::string_view kAliases =
      by_axes<kAxes>("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d");
  static config::Section<AdaptiveMaxPooling> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

template <std::size_t kAxes>
struct AdaptiveAveragePooling : AdaptivePoolOptions<kAxes> {
  static constexpr std::string_view kName =
      by_axes<kAxes>("adaptive_average_pooling1d", "adaptive_average_pooling2d", "adaptive_average_pooling3d");
  static constexpr std::string_view kAliases =
      by_axes<kAxes>("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d");
  static config::Section<AdaptiveAveragePooling> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The options of layers that pool everything before the channels.
struct GlobalPoolOptions : LayerCommon {
  static constexpr bool kOptionsSetRank = true;
  bool keepdims = false;

  static config::Section<GlobalPoolOptions> section() {
    return config::Section<GlobalPoolOptions>("A pooling of everything.")
        .key("keepdims", &GlobalPoolOptions::keepdims, "Whether the axes that are pooled stay, with one element.")
        .include<LayerCommon>();
  }
};

/// [..., channels], with `kAxes` axes before the channels -> [channels]: the mean over those axes; of a sequence,
/// without masked steps.
template <std::size_t kAxes>
struct GlobalAveragePooling : GlobalPoolOptions {
  static constexpr std::string_view kName =
      by_axes<kAxes>("global_average_pooling1d", "global_average_pooling2d", "global_average_pooling3d");
  static constexpr std::string_view kAliases = by_axes<kAxes>(
      "global_avg_pool1d", "global_avg_pool2d, global_average_pool2d, global_avg_pool, gap", "global_avg_pool3d");
  static constexpr Masking kMasking = kAxes == 1 ? Masking::kOwn : Masking::kEnds;
  static config::Section<GlobalAveragePooling> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The maximum over those axes.
template <std::size_t kAxes>
struct GlobalMaxPooling : GlobalPoolOptions {
  static constexpr std::string_view kName =
      by_axes<kAxes>("global_max_pooling1d", "global_max_pooling2d", "global_max_pooling3d");
  static constexpr std::string_view kAliases =
      by_axes<kAxes>("global_max_pool1d", "global_max_pool, global_max_pool2d", "global_max_pool3d");
  static config::Section<GlobalMaxPooling> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
