#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mirrortrain::keras {

/// A call of a layer: its name, and the number of the call.
using LayerCall = std::pair<std::string, std::size_t>;

/// What each call of each layer is called on.
using LayerCalls = std::map<std::string, std::vector<std::vector<LayerCall>>>;

/// The layers that the outputs depend on in the order in which a functional model of Keras's has them, whatever the
/// order that its config lists them in: by their depth above the outputs, and those of one depth as a walk back from
/// the outputs comes across them. Groups of weights are counted, and variables listed, in this order.
std::vector<std::string> layers_in_order(const LayerCalls& calls, const std::vector<LayerCall>& outputs);

/// The calls that the outputs depend on in the order in which Keras computes them, which is that of the updates of
/// moving statistics where a normalization is called several times.
std::vector<LayerCall> calls_in_order(const LayerCalls& calls, const std::vector<LayerCall>& outputs);

}  // namespace mirrortrain::keras
