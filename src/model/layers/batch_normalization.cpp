#include "model/layers/batch_normalization.h"

#include "base/error.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/collective.h"
#include "graph/ops/synchronized_batch_norm.h"
#include "model/key_aliases.h"
#include "model/layers/moved_axes.h"
#include "model/layers/normalization.h"

namespace mirrortrain::layers {

config::Section<BatchNormalization> BatchNormalization::section() {
  using Layer = BatchNormalization;
  return config::Section<BatchNormalization>("Batch normalization: normalizes each channel over the batch.")
      .key("axis", &Layer::axis, "Axis of the channels; 0 is the batch, -1 the last axis.")
      .key("momentum", &Layer::momentum, "Momentum of the moving mean and variance.", config::between(0, 1))
      .key("epsilon", &Layer::epsilon, "Small constant added to the variance to avoid dividing by zero.",
           config::at_least(0), kEpsilonAliases)
      .key("center", &Layer::center, "Whether to add the offset beta.")
      .key("scale", &Layer::scale, "Whether to multiply by gamma.")
      .key("beta_initializer", &Layer::beta_initializer, "Initializer of beta.")
      .key("gamma_initializer", &Layer::gamma_initializer, "Initializer of gamma.")
      .key("moving_mean_initializer", &Layer::moving_mean_initializer, "Initializer of the moving mean.")
      .key("moving_variance_initializer", &Layer::moving_variance_initializer, "Initializer of the moving variance.")
      .key("synchronized", &Layer::synchronized,
           "Whether to normalize by the statistics of the global batch, added up over all replicas, in place of those "
           "of the replica's own examples.")
      .check("beta_initializer", [](const Layer& layer) { return without_beta(layer); })
      .check("gamma_initializer", [](const Layer& layer) { return without_gamma(layer); })
      .include<LayerCommon>();
}

ValueId BatchNormalization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const MovedAxes moved(builder, sources[0], {require_axis(builder, sources[0], axis)});
  const ValueId x = moved.value();
  const Shape channels{builder.shape(x).back()};
  const ValueId gamma = scale ? builder.weight("gamma", channels, gamma_initializer) : kNoValue;
  const ValueId beta = center ? builder.weight("beta", channels, beta_initializer) : kNoValue;
  const ValueId moving_mean = builder.statistic("moving_mean", channels, moving_mean_initializer);
  const ValueId moving_variance = builder.statistic("moving_variance", channels, moving_variance_initializer);
  // Called once more in a step, the layer goes on from what the call before assigned.
  const std::vector<ValueId> arguments{x, gamma, beta, builder.assigned(moving_mean),
                                       builder.assigned(moving_variance)};
  const auto epsilon_as_float = static_cast<float>(epsilon);
  builder.set_output_mask(builder.mask(0));

  if (builder.mode() == Mode::kEvaluation || !builder.trainable()) {
    return moved.back(builder.apply(ops::BatchNormInference(epsilon_as_float), arguments));
  }
  if (builder.has_masks() && x != sources[0]) {
    throw Error("a mask of padding is of the axes before the last; expected axis: -1 where the input carries one");
  }
  if (synchronized || builder.has_masks()) {
    Graph& graph = builder.graph();
    const ValueId own = builder.apply(ops::BatchNormSums(), {x, builder.mask(0)});
    const ValueId sums = synchronized ? graph.apply_one(ops::AllReduce(ops::Axis::kData), {own}) : own;
    const std::vector<ValueId> statistics =
        graph.apply(ops::MovingStatistics(static_cast<float>(momentum)), {sums, arguments[3], arguments[4]});
    builder.assign(moving_mean, statistics[0]);
    builder.assign(moving_variance, statistics[1]);
    return moved.back(builder.apply(ops::BatchNormBySums(epsilon_as_float, {}, synchronized),
                                    {x, gamma, beta, sums, builder.mask(0)}));
  }
  const std::vector<ValueId> outputs =
      builder.graph().apply(ops::BatchNorm(static_cast<float>(momentum), epsilon_as_float), arguments);
  builder.assign(moving_mean, outputs[3]);
  builder.assign(moving_variance, outputs[4]);
  return moved.back(outputs[0]);
}

}  // namespace mirrortrain::layers
