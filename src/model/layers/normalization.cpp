#include "model/layers/normalization.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/group_norm.h"
#include "model/key_aliases.h"

namespace mirrortrain::layers {

config::Section<ExampleNormOptions> ExampleNormOptions::section() {
  using Options = ExampleNormOptions;
  return config::Section<Options>("A normalization of each example alone.")
      .key("epsilon", &Options::epsilon, "Small constant added to the variance to avoid dividing by zero.",
           config::at_least(0), kEpsilonAliases)
      .key("center", &Options::center, "Whether to add the offset beta.")
      .key("scale", &Options::scale, "Whether to multiply by gamma.")
      .key("beta_initializer", &Options::beta_initializer, "Initializer of beta.")
      .key("gamma_initializer", &Options::gamma_initializer, "Initializer of gamma.")
      .check("beta_initializer", [](const Options& layer) { return without_beta(layer); })
      .check("gamma_initializer", [](const Options& layer) { return without_gamma(layer); })
      .include<LayerCommon>();
}

ValueId ExampleNormOptions::normalize(LayerBuilder& builder, ValueId source, std::int64_t groups,
                                      bool by_position) const {
  const Shape channels{builder.features(source).back()};
  const ValueId gamma = scale ? builder.weight("gamma", channels, gamma_initializer) : kNoValue;
  const ValueId beta = center ? builder.weight("beta", channels, beta_initializer) : kNoValue;
  const ops::GroupNorm norm({groups, by_position, static_cast<float>(epsilon)});
  return builder.apply(norm, {source, gamma, beta});
}

config::Section<LayerNormalization> LayerNormalization::section() {
  return config::Section<LayerNormalization>("Layer normalization: normalizes the last axis of each example.")
      .include<ExampleNormOptions>();
}

ValueId LayerNormalization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return normalize(builder, sources[0], 1, true);
}

config::Section<GroupNormalization> GroupNormalization::section() {
  return config::Section<GroupNormalization>(
             "Group normalization: normalizes groups of channels of each example, over all positions.")
      .key("groups", &GroupNormalization::groups,
           "Number of groups into which the channels are split; -1: one for each channel.", config::at_least(-1),
           kGroupsAliases)
      .check("groups",
             [](const GroupNormalization& layer) { return std::string(layer.groups == 0 ? "0 groups are none" : ""); })
      .include<ExampleNormOptions>();
}

ValueId GroupNormalization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t channels = builder.features(sources[0]).back(), count = groups == -1 ? channels : groups;
  if (channels % count != 0) throw Error(fmt::format("{} channels cannot be split into {} groups", channels, count));
  return normalize(builder, sources[0], count, false);
}

}  // namespace mirrortrain::layers
