#pragma once

#include "graph/graph.h"

namespace mirrortrain::cuda {

/// A program's graph with fewer nodes, each a kernel's launches; values that are among `outputs` are still made.
///  - a categorical loss makes the accuracy of the same values, and does what is cast around it;
///  - an input that is only cast comes in that dtype;
///  - the gradient of a convolution's kernel comes as Backend::keeps_filters_out_first says;
///  - a batch normalization adds what is added to it, and takes relu of the sum;
///  - relu's gradient adds up what comes to it;
///  - the gradient of a max pooling behind a convolution makes the gradient of the convolution's bias.
Graph merge(const Graph& graph, const std::vector<ValueId>& outputs);

}  // namespace mirrortrain::cuda
