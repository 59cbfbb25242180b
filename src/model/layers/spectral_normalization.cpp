#include "model/layers/spectral_normalization.h"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

#include "base/error.h"
#include "model/layers/wrapper.h"

namespace mirrortrain::layers {
namespace {

/// Whether Keras's layer has the attribute `kernel` or `embeddings`: a recurrent one's belongs to its cell.
template <class Inner>
constexpr bool kHasKernel = [] {
  constexpr bool kHasOne = requires(const Inner& options) { options.kernel_initializer; }
  || requires(const Inner& options) { options.depthwise_initializer; }
  || requires(const Inner& options) { options.embeddings_initializer; };
  constexpr bool kHasOthers = requires(const Inner& options) { options.recurrent_initializer; }
  || requires(const Inner& options) { options.pointwise_initializer; };
  return kHasOne && !kHasOthers && Inner::kMostInputs == 1;
}();

std::string wrong_to_normalize(const PlainLayer& layer) {
  return config::visit(
      [](const auto& options) -> std::string {
        using Inner = std::decay_t<decltype(options)>;
        if (!kHasKernel<Inner>) {
          return fmt::format("expected a layer with one kernel or table, such as dense, conv2d or embedding, found {}",
                             Inner::kName);
        }
        if constexpr (requires { options.lora_rank; }) {
          if (options.lora_rank) return "with lora_rank the kernel is a sum of weights; take one of the two out";
        }
        return wrong_inside(options);
      },
      layer);
}

}  // namespace

config::Section<SpectralNormalization> SpectralNormalization::section() {
  using Self = SpectralNormalization;
  return config::Section<Self>(
             "A layer whose kernel or table each training step divides by its largest singular value, which limits how "
             "fast the output changes.")
      .key("layer", &Self::layer, "The layer: `layer: {conv2d: {filters: 8, kernel_size: 3}}`.", config::required)
      .key("power_iterations", &Self::power_iterations, "Iterations of a step's estimate of the singular value.",
           config::at_least(1), config::at_most(1000), config::aliases("n_power_iterations"))
      .check("layer", [](const Self& wrapper) { return wrong_to_normalize(wrapper.layer); })
      .include<LayerCommon>();
}

ValueId SpectralNormalization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const ValueId output = config::visit(
      [&](const auto& options) {
        const ValueId made = options.build(builder, sources);
        builder.mask_output(options.kMasking, options.kName);
        return made;
      },
      layer);
  for (const std::string_view kernel : {"kernel", "embeddings"}) {
    const ValueId weight = builder.own_weight(kernel);
    if (weight == kNoValue) continue;
    const ValueId vector = builder.statistic("vector_u", Shape{1, builder.shape(weight).back()},
                                             initializers::TruncatedNormal{.stddev = 0.02});
    builder.normalize_spectrum(kernel, vector, static_cast<int>(power_iterations));
    return output;
  }
  throw Error("expected a layer with a kernel or a table of its own, found none; take the wrapper off");
}

}  // namespace mirrortrain::layers
