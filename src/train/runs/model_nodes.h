#pragma once

#include <vector>

#include "report/tensorboard_graph.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// The model's inputs and layers with what each reads, for TensorBoard's graph.
std::vector<report::ModelNode> model_nodes(const CheckedConfiguration& checked);

}  // namespace mirrortrain
