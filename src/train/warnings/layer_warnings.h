#pragma once

#include "config/errors.h"
#include "train/configuration/checked_configuration.h"

namespace mirrortrain {

/// Warns of layers that hardly anyone means: frozen ones that have nothing but their random initial weights, kernels
/// that all begin with one number, and dense layers that are one layer together. Of a model without errors.
void warn_of_idle_layers(const CheckedConfiguration& checked, config::Errors& errors);

/// How many parts of a global batch the options alone say that there are at least, each normalized by itself.
int fewest_batch_parts(const StrategyOptions& options);

/// Warns of batch normalizations of vectors of which no replica ever has two: the mean of one number is itself, so that
/// all outputs are beta. `parts`: of a global batch, as the mesh has them on its axis `data`.
void warn_of_lone_rows(const CheckedConfiguration& checked, int parts, config::Errors& errors);

}  // namespace mirrortrain
