#include "train/session/check_mesh.h"

#include <fmt/format.h>

#include "base/error.h"
#include "strategy/pipeline_places.h"
#include "strategy/pipeline_stages.h"
#include "train/session/hardware.h"
#include "train/session/run_cluster.h"

namespace mirrortrain {
namespace {

/// The places of all workers. Throws UsageError as mesh_of does.
Mesh mesh_of_run(const CheckedConfiguration& checked) {
  const Configuration& values = checked.values();
  return mesh_of(values.strategy, values.data.global_batch_size, this_machine(checked.cluster), count_workers(checked));
}

/// What stages on several workers do not go with.
void check_stages_of_workers(const CheckedConfiguration& checked, const StagesOfWorkers& stages, const Mesh& mesh,
                             config::Errors& errors) {
  const Configuration& values = checked.values();
  if (const std::string reader = values.optimizer ? reader_of_wholes(*values.optimizer) : ""; !reader.empty()) {
    errors.add(checked.place_of("optimizer"), "optimizer",
               fmt::format("{} reads whole gradients (their norms, rows or columns), and stages on several workers do "
                           "not go with it yet; use another, or strategy.mesh.data: {}, so that each worker has all "
                           "stages",
                           reader, count_workers(checked)));
  }
  workers_of_variables(*checked.model, stages);
  check_boundaries(*checked.model, stages, mesh.in_flight());
}

}  // namespace

int count_workers(const CheckedConfiguration& checked) {
  return checked.cluster ? static_cast<int>(checked.cluster->trainers().size()) : 1;
}

std::string other_remedy(const std::string& reader) {
  return reader == "clipnorm" ? "; gradients.clip_norm, over all of them, does not" : "";
}

void check_fits_devices(const CheckedConfiguration& checked, config::Errors& errors) {
  const Configuration& values = checked.values();
  try {
    const Mesh mesh = mesh_of_run(checked);
    if (mesh.data > values.data.global_batch_size) {
      errors.warn(checked.place_of(WrongPipeline::kKey), WrongPipeline::kKey,
                  fmt::format("a global batch of {} has fewer examples than the {} microbatches, so that some have "
                              "none; use fewer microbatches",
                              values.data.global_batch_size, mesh.data));
    }
    if (const auto stages = stages_of_workers(checked)) check_stages_of_workers(checked, *stages, mesh, errors);
  } catch (const WrongPipeline& error) {
    errors.add(checked.place_of(WrongPipeline::kKey), WrongPipeline::kKey, error.reason());
  } catch (const UsageError&) {  // of the devices, reported elsewhere
  }
}

int places_of_model(const CheckedConfiguration& checked, config::Errors& errors) {
  const Configuration& values = checked.values();
  if (!values.strategy.mesh || errors.concern("strategy")) return 1;
  int places = 1;
  try {
    places = mesh_of_run(checked).model;
  } catch (const WrongMesh& error) {
    errors.add(checked.place_of(WrongMesh::kKey), WrongMesh::kKey, error.reason());
    return 1;
  } catch (const UsageError&) {  // of the devices, reported elsewhere
    return 1;
  }
  if (places == 1) return 1;
  const auto refuse = [&](const std::string& key, const std::string& why) {
    errors.add(checked.place_of(key), key, fmt::format("{}; use strategy.mesh.model: 1", why));
  };
  if (const std::string reader = values.optimizer ? reader_of_wholes(*values.optimizer) : ""; !reader.empty()) {
    refuse("optimizer",
           fmt::format("{} reads each variable's whole gradient (its norm, rows or columns), of which the places of a "
                       "model have parts{}",
                       reader, other_remedy(reader)));
  }
  return places;
}

std::optional<StagesOfWorkers> stages_of_workers(const CheckedConfiguration& checked) {
  const auto& pipeline = checked.values().strategy.pipeline;
  if (!pipeline || !checked.has_model()) return std::nullopt;
  const int workers = workers_of_replica(mesh_of_run(checked).replicas(), count_workers(checked));
  if (workers == 1) return std::nullopt;
  return StagesOfWorkers{stages_of_layers(*pipeline, *checked.model), pipeline->stages(), workers};
}

void check_aggregations(const CheckedConfiguration& checked, config::Errors& errors) {
  for (std::size_t i = 0; i < checked.variables.size(); ++i) {
    const ModelVariable& variable = checked.model->variables[i];
    const VariablePolicy& policy = checked.variables[i].policy;
    if (!variable.spec.trainable || policy.aggregation == Aggregation::kMean) continue;
    errors.add(
        checked.place_of("variables"), "variables",
        fmt::format("{}: a pipeline adds up the gradients of its microbatches, so that only aggregation: mean is "
                    "possible; found {}",
                    variable.spec.name, name_of(policy.aggregation)));
    return;
  }
}

}  // namespace mirrortrain
