#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "config/errors.h"
#include "model/model.h"
#include "model/model_options.h"

namespace mirrortrain {

/// Adds the graphs of sequences of these lengths (Model::shorter), ascending and below input_shape[0], with the same
/// result as full-length ones: everything beyond each length is padding, which a mask excludes. `build` builds the
/// model for other options. Throws Error, with the remedy, for a model whose input is not a sequence masked by an
/// embedding, or with a layer that depends on the number of time steps.
void add_shorter_graphs(Model& model, const ModelOptions& options, std::span<const std::int64_t> lengths,
                        const std::function<Model(const ModelOptions&, config::Errors&)>& build);

}  // namespace mirrortrain
