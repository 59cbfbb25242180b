#pragma once

#include <optional>
#include <string>

#include "config/errors.h"
#include "strategy/stage_model.h"
#include "train/configuration/checked_configuration.h"

/// Checks of how a model is divided over the places of a mesh and the stages of a pipeline.
namespace mirrortrain {

/// The workers of the run's cluster that compute; 1 without a cluster.
int count_workers(const CheckedConfiguration& checked);

/// The number of places that divide the layers of a replica; 1 where the mesh is wrong, which is reported elsewhere.
/// Refuses an optimizer that reads whole gradients where there are several.
int places_of_model(const CheckedConfiguration& checked, config::Errors& errors);

/// Another remedy for an optimizer with this reader of whole gradients (see reader_of_wholes), to end a sentence with;
/// may be empty.
std::string other_remedy(const std::string& reader);

/// Whether the stages of a pipeline can be dealt to the devices.
void check_fits_devices(const CheckedConfiguration& checked, config::Errors& errors);

/// How a pipeline's stages are dealt to the workers of a replica; nullopt where each worker has all stages of its
/// replicas, and without a cluster.
std::optional<StagesOfWorkers> stages_of_workers(const CheckedConfiguration& checked);

/// A pipeline's gradients of microbatches are terms of a mean.
void check_aggregations(const CheckedConfiguration& checked, config::Errors& errors);

}  // namespace mirrortrain
