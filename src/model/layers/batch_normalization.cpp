#include "model/layers/batch_normalization.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/collective.h"
#include "graph/ops/synchronized_batch_norm.h"
#include "model/formula/formula_graph.h"
#include "model/key_aliases.h"
#include "model/layers/moved_axes.h"

namespace mirrortrain::layers {
namespace {

std::string without_renorm(const BatchNormalization& layer, bool is_given) {
  return is_given && !layer.renorm ? "has no effect without `renorm: true`; add it, or leave this out" : "";
}

}  // namespace

config::Section<RenormClipping> RenormClipping::section() {
  using Self = RenormClipping;
  return config::Section<Self>("Bounds of the corrections of batch renormalization.")
      .key("rmin", &Self::rmin, "Least factor that corrects the standard deviation; null: none.", config::at_least(0))
      .key("rmax", &Self::rmax, "Largest factor that corrects the standard deviation; null: none.", config::at_least(0))
      .key("dmax", &Self::dmax, "Largest distance that corrects the mean; null: none.", config::at_least(0))
      .check("rmax", [](const Self& bounds) -> std::string {
        return bounds.rmin && bounds.rmax && *bounds.rmax < *bounds.rmin ? "expected at least rmin" : "";
      });
}

config::Section<BatchNormalization> BatchNormalization::section() {
  using Layer = BatchNormalization;
  return config::Section<BatchNormalization>("Batch normalization: normalizes each channel over the batch.")
      .key("axis", &Layer::axis, "Axis of the channels; 0 is the batch, -1 the last axis.")
      .key("momentum", &Layer::momentum, "Momentum of the moving mean and variance.", config::between(0, 1))
      .key("epsilon", &Layer::epsilon, "Small constant added to the variance to avoid dividing by zero.",
           config::at_least(0), kEpsilonAliases)
      .include<GammaAndBeta>()
      .key("moving_mean_initializer", &Layer::moving_mean_initializer, "Initializer of the moving mean.")
      .key("moving_variance_initializer", &Layer::moving_variance_initializer, "Initializer of the moving variance.")
      .key("renorm", &Layer::renorm,
           "Whether the statistics of a batch are corrected to those of the batches before it, so that training "
           "normalizes as evaluation does, also with small batches.")
      .key("renorm_clipping", &Layer::renorm_clipping, "With renorm: bounds of the corrections; null: none.")
      .key("renorm_momentum", &Layer::renorm_momentum,
           "With renorm: momentum of the statistics that a batch's are corrected to.", config::between(0, 1))
      .key("synchronized", &Layer::synchronized,
           "Whether to normalize by the statistics of the global batch, added up over all replicas, in place of those "
           "of the replica's own examples.")
      .check("renorm_clipping",
             [](const Layer& layer) { return without_renorm(layer, layer.renorm_clipping.has_value()); })
      .check("renorm_momentum",
             [](const Layer& layer) { return without_renorm(layer, layer.renorm_momentum != Layer{}.renorm_momentum); })
      .include<LayerCommon>();
}

/// The variables, in Keras's order; those of renorm absent without it.
struct BatchNormalization::Statistics {
  ValueId moving_mean, moving_variance, moving_stddev = kNoValue, renorm_mean = kNoValue, renorm_stddev = kNoValue;

  Statistics(LayerBuilder& builder, const BatchNormalization& layer, const Shape& channels)
      : moving_mean(builder.statistic("moving_mean", channels, layer.moving_mean_initializer)),
        moving_variance(builder.statistic("moving_variance", channels, layer.moving_variance_initializer)) {
    if (!layer.renorm) return;
    const auto to_deviations = [](std::span<float> variances) {
      for (float& one : variances) one = std::sqrt(one);
    };
    const Initializer& variance = layer.moving_variance_initializer;
    moving_stddev = builder.statistic("moving_stddev", channels, variance, to_deviations);
    renorm_mean = builder.statistic("renorm_mean", channels, layer.moving_mean_initializer);
    renorm_stddev = builder.statistic("renorm_stddev", channels, variance, to_deviations);
  }
};

ValueId BatchNormalization::renormalize(LayerBuilder& builder, const Statistics& statistics, ValueId x, ValueId gamma,
                                        ValueId beta, ValueId sums) const {
  ops::RenormOptions options{static_cast<float>(momentum), static_cast<float>(renorm_momentum),
                             static_cast<float>(epsilon)};
  const RenormClipping bounds = renorm_clipping.value_or(RenormClipping{});
  if (bounds.rmin) options.least_scale = static_cast<float>(*bounds.rmin);
  if (bounds.rmax) options.most_scale = static_cast<float>(*bounds.rmax);
  if (bounds.dmax) options.most_shift = static_cast<float>(*bounds.dmax);
  const ValueId moved[] = {statistics.renorm_mean, statistics.renorm_stddev, statistics.moving_mean,
                           statistics.moving_stddev, statistics.moving_variance};
  std::vector<ValueId> read{sums};
  for (std::size_t i = 0; i < 4; ++i) read.push_back(builder.assigned(moved[i]));
  const std::vector<ValueId> corrected = builder.graph().apply(ops::RenormStatistics(options), std::move(read));
  for (std::size_t i = 0; i < std::size(moved); ++i) builder.assign(moved[i], corrected[i + 2]);
  const ops::BatchNormBySums normalize(static_cast<float>(epsilon), {}, synchronized);
  const ValueId normalized = builder.apply(normalize, {x, kNoValue, kNoValue, sums, builder.mask(0)});
  std::string formula = "x * r + d";
  formula::Values values{{"x", normalized}, {"r", corrected[0]}, {"d", corrected[1]}};
  if (gamma != kNoValue) {
    formula = "(" + formula + ") * gamma";
    values.emplace("gamma", gamma);
  }
  if (beta != kNoValue) {
    formula += " + beta";
    values.emplace("beta", beta);
  }
  return formula::add_formula(builder.graph(), formula, values, builder.graph().spec(x).dtype);
}

ValueId BatchNormalization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const MovedAxes moved(builder, sources[0], {require_axis(builder, sources[0], axis)});
  const ValueId x = moved.value();
  const Shape channels{builder.shape(x).back()};
  const ValueId of_gamma = gamma(builder, channels), of_beta = beta(builder, channels);
  const Statistics statistics(builder, *this, channels);
  // Called once more in a step, the layer continues from what the call before assigned.
  const std::vector<ValueId> arguments{x, of_gamma, of_beta, builder.assigned(statistics.moving_mean),
                                       builder.assigned(statistics.moving_variance)};
  const auto epsilon_as_float = static_cast<float>(epsilon);
  builder.set_output_mask(builder.mask(0));

  if (builder.mode() == Mode::kEvaluation || !builder.trainable()) {
    return moved.back(builder.apply(ops::BatchNormInference(epsilon_as_float), arguments));
  }
  if (builder.has_masks() && x != sources[0]) {
    throw Error("a mask of padding is of the axes before the last; expected axis: -1 where the input carries one");
  }
  if (synchronized || builder.has_masks() || renorm) {
    Graph& graph = builder.graph();
    const ValueId own = builder.apply(ops::BatchNormSums(), {x, builder.mask(0)});
    const ValueId sums = synchronized ? graph.apply_one(ops::AllReduce(ops::Axis::kData), {own}) : own;
    if (renorm) return moved.back(renormalize(builder, statistics, x, of_gamma, of_beta, sums));
    const std::vector<ValueId> now =
        graph.apply(ops::MovingStatistics(static_cast<float>(momentum)), {sums, arguments[3], arguments[4]});
    builder.assign(statistics.moving_mean, now[0]);
    builder.assign(statistics.moving_variance, now[1]);
    return moved.back(builder.apply(ops::BatchNormBySums(epsilon_as_float, {}, synchronized),
                                    {x, of_gamma, of_beta, sums, builder.mask(0)}));
  }
  const std::vector<ValueId> outputs =
      builder.graph().apply(ops::BatchNorm(static_cast<float>(momentum), epsilon_as_float), arguments);
  builder.assign(statistics.moving_mean, outputs[3]);
  builder.assign(statistics.moving_variance, outputs[4]);
  return moved.back(outputs[0]);
}

}  // namespace mirrortrain::layers
