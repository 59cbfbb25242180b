#include "model/layers/time_distributed.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/elementwise.h"
#include "model/layers/along_axis.h"
#include "model/layers/single_steps.h"
#include "model/layers/wrapper.h"

namespace mirrortrain::layers {
namespace {

std::string wrong_at_steps(const PlainLayer& layer) {
  return config::visit(
      [](const auto& options) -> std::string {
        using Inner = std::decay_t<decltype(options)>;
        if (Inner::kFewestInputs > 1 || std::is_same_v<Inner, Reuse>) {
          return fmt::format("expected a layer of one input with weights of its own, found {}", Inner::kName);
        }
        return wrong_inside(options);
      },
      layer);
}

/// Whether the layer treats each vector along the last axis by itself, so that it may see all steps at once.
template <class Inner>
constexpr bool kTreatsVectors = [] {
  if constexpr (requires { Inner::kTreatsVectors; }) return Inner::kTreatsVectors;
  return false;
}();

}  // namespace

config::Section<TimeDistributed> TimeDistributed::section() {
  return config::Section<TimeDistributed>("Applies a layer to each time step of a sequence by itself.")
      .key("layer", &TimeDistributed::layer, "The layer: `layer: {conv2d: {filters: 8, kernel_size: 3}}`.",
           config::required)
      .check("layer", [](const TimeDistributed& wrapper) { return wrong_at_steps(wrapper.layer); })
      .include<LayerCommon>();
}

ValueId TimeDistributed::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape shape = builder.shape(sources[0]);
  if (shape.rank() < 2) {
    throw WrongRank(fmt::format("expected sequences [steps, ...], found the shape {}{}", builder.described(sources[0]),
                                builder.sequence_remedy(sources[0])));
  }
  return config::visit(
      [&](const auto& options) -> ValueId {
        if constexpr (kTreatsVectors<std::decay_t<decltype(options)>>) {
          const LayerBuilder::InnerCall call(builder, 0);
          return options.build(builder, sources);
        }
        if (shape[0] > kMostSteps) {
          throw Error(fmt::format("expected at most {} steps, each of which is a call of the layer, found {}",
                                  kMostSteps, builder.described(sources[0])));
        }
        std::vector<ValueId> steps;
        for (std::int64_t step = 0; step < shape[0]; ++step) {
          const LayerBuilder::InnerCall call(builder, static_cast<std::size_t>(step));
          const ValueId source = layers::step(builder.graph(), sources[0], 0, step);
          steps.push_back(with_leading_axis(builder, options.build(builder, {&source, 1})));
        }
        return builder.apply(ops::Concatenate(0), std::move(steps));
      },
      layer);
}

}  // namespace mirrortrain::layers
