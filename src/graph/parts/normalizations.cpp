#include "graph/parts/normalizations.h"

namespace mirrortrain::parts {

Ways batch_norm(const DividedNode& node) {
  const Sharding& held = node.held[0];
  if (!held.is_along(last_axis(node.shape(0)))) return {};
  const Sharding vector = Sharding::along(0, held.unit);
  OpParts way{std::vector<Sharding>(node.held.size(), vector), std::vector<Sharding>(node.node.outputs.size(), vector)};
  way.inputs[0] = way.outputs[0] = held;
  return {way};
}

Ways batch_norm_sums(const DividedNode& node) {
  const Sharding& held = node.held[0];
  if (!held.is_along(last_axis(node.shape(0)))) return {};
  return {{{held, Sharding::whole()}, {Sharding::own(held.unit)}}};
}

Ways batch_norm_by_sums(const DividedNode& node) {
  if (node.held[3].kind != Sharding::Kind::kOwn) return {};
  Ways ways = batch_norm(node);
  for (OpParts& way : ways) {
    way.inputs[3] = node.held[3];
    if (way.inputs.size() > 4) way.inputs[4] = Sharding::whole();
  }
  return ways;
}

Ways moving_statistics(const DividedNode& node) {
  if (node.held[0].kind != Sharding::Kind::kOwn) return {};
  const Sharding vector = Sharding::along(0, node.held[0].unit);
  std::vector<Sharding> inputs(node.node.inputs.size(), vector);
  inputs[0] = node.held[0];
  return {{inputs, std::vector<Sharding>(node.node.outputs.size(), vector)}};
}

}  // namespace mirrortrain::parts
