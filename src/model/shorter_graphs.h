#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "config/errors.h"
#include "model/model.h"
#include "model/model_options.h"

namespace mirrortrain {

/// Adds the graphs of sequences of these lengths (Model::shorter), ascending and below input_shape[0], whose outcome is
/// that of the whole ones: what is behind each length is padding, which a mask leaves out. `build` makes the model of
/// other options. Throws Error, with the remedy, for a model whose input is no sequence that an embedding masks, or
/// with a layer that depends on the number of steps.
void add_shorter_graphs(Model& model, const ModelOptions& options, std::span<const std::int64_t> lengths,
                        const std::function<Model(const ModelOptions&, config::Errors&)>& build);

}  // namespace mirrortrain
