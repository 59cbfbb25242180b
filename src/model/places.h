#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/partition.h"
#include "model/model.h"

namespace mirrortrain {

/// The places that compute the model's layers together, each with parts of the variables.
struct PlacesOfModel {
  int count = 1;
  /// How a variable is divided among them; nullopt, also where null: as it suits the layers.
  std::function<std::optional<Sharding>(const ModelVariable&)> sharding{};
  /// How the nodes of both graphs are divided, kept of the first model that is built: one for shorter sequences is
  /// divided alike, though other ways may be cheaper for it.
  struct Ways {
    ChosenWays training, evaluation;
  };
  std::shared_ptr<Ways> ways = std::make_shared<Ways>();
};

/// Divides a model's forward graphs among places (graph/partition.h), and sets the variables' shardings. What
/// training's graph chooses for the variables holds for evaluation. Throws Error for a sharding that does not fit its
/// variable.
void divide_graphs(Model& model, const PlacesOfModel& places);

/// What a place has the others of its replica read in a training step.
struct Exchange {
  std::string layer, collective;
  std::uint64_t bytes = 0;
};
/// The bytes of a value that is exchanged in a training step of so many examples, which are computed in microbatches.
/// One without rows, as a weight, is exchanged for each of them.
std::uint64_t exchanged_bytes(const ValueSpec& value, std::int64_t examples, int microbatches);
/// By layer and collective, in the order of the step, for so many examples of a replica, which are computed in so many
/// microbatches.
std::vector<Exchange> exchanges_of_places(const Model& model, std::int64_t examples, int microbatches = 1);

}  // namespace mirrortrain
