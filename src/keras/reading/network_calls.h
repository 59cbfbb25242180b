#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "keras/problems.h"
#include "keras/reading/network.h"

namespace mirrortrain::keras {

/// A call of a layer of a network: the layer, and the number of the call.
using NetworkCall = std::pair<const NetworkLayer*, std::size_t>;

/// The calls that a network's outputs depend on, each behind what it reads, otherwise in the file's order, or in
/// Keras's where that counts. The call of an only output is the last. Reports layers that read each other in a circle.
std::vector<NetworkCall> calls_in_order(const Network& network, Problems& problems);

/// The same calls in the order in which Keras runs them; of a network without circles.
std::vector<NetworkCall> calls_as_keras_runs(const Network& network);

}  // namespace mirrortrain::keras
