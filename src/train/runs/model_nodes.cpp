#include "train/runs/model_nodes.h"

#include <algorithm>

#include "model/wiring.h"

namespace mirrortrain {

std::vector<report::ModelNode> model_nodes(const CheckedConfiguration& checked) {
  const Wiring wiring = wiring_of(*checked.values().model);
  std::vector<report::ModelNode> nodes;
  for (std::size_t i = 0; i < wiring.inputs.size(); ++i) {
    nodes.push_back({wiring.inputs[i], "input", {}, checked.examples.inputs[i].shape});
  }
  for (const LayerSummary& layer : checked.model->layers) {  // without those that no output depends on
    report::ModelNode& node =
        nodes.emplace_back(report::ModelNode{layer.name, layer.type, {}, layer.output_shape, layer.parameters});
    const auto number = std::ranges::find(wiring.names, layer.name) - wiring.names.begin();
    for (const int source : wiring.sources[static_cast<std::size_t>(number)]) {
      node.inputs.push_back(wiring.is_input(source) ? wiring.inputs[static_cast<std::size_t>(source)]
                                                    : wiring.names[wiring.layer_of(source)]);
    }
  }
  return nodes;
}

}  // namespace mirrortrain
