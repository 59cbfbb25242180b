#include "strategy/pipeline_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

namespace mirrortrain {
namespace {

/// The number of replicas that a pipeline shall have, on all workers; nullopt: as many as the devices leave.
std::optional<std::int64_t> replicas_of_pipeline(const StrategyOptions& options, int workers) {
  if (options.mesh) return number_of(options.mesh->data);
  return options.replicas ? std::optional(*options.replicas * workers) : std::nullopt;
}

}  // namespace

int workers_of_replica(std::int64_t replicas, int workers) {
  return static_cast<int>(std::max<std::int64_t>(1, workers / replicas));
}

std::int64_t stages_to_deal(const StrategyOptions& options, int workers) {
  const std::int64_t model = options.mesh ? number_of(options.mesh->model).value_or(1) : 1;
  const std::int64_t stages = options.pipeline->stages() * replicas_of_pipeline(options, workers).value_or(1) * model;
  return std::max<std::int64_t>(1, stages / workers);
}

Mesh mesh_of_pipeline(const StrategyOptions& options, std::size_t devices, int workers) {
  const PipelineOptions& pipeline = *options.pipeline;
  const auto all = static_cast<std::int64_t>(devices) * workers, stages = static_cast<std::int64_t>(pipeline.stages());
  const auto left_by = [all](std::int64_t others) { return std::max<std::int64_t>(1, all / others); };
  const auto model = options.mesh ? number_of(options.mesh->model) : 1,
             replicas = replicas_of_pipeline(options, workers);
  const std::int64_t d = replicas.value_or(left_by(stages * model.value_or(1))),
                     m = model.value_or(left_by(stages * d));
  const std::string of = fmt::format("{} stages of {} replica{}{}", stages, d, d == 1 ? "" : "s",
                                     m == 1 ? "" : fmt::format(" of {} places", m));
  const std::string on = fmt::format("{} devices{}", all, workers == 1 ? "" : fmt::format(" of {} workers", workers));
  if (stages * d * m % all != 0) {
    throw WrongPipeline(fmt::format(
        "{} cannot be dealt to {}, each the same number; expected a multiple of {}: set strategy.mesh.data, "
        "name more or fewer layers in split_before, or list fewer strategy.devices",
        of, on, all));
  }
  const int in_row = workers_of_replica(d, workers);
  if (d * in_row % workers != 0 || stages % in_row != 0) {
    throw WrongPipeline(
        fmt::format("{} cannot be dealt to {}: each worker has whole replicas, or those of a replica as many of its "
                    "stages each; set strategy.mesh.data to a multiple of the {} workers, or so that workers / data is "
                    "a number that divides the {} stages",
                    of, on, workers, stages));
  }
  return {static_cast<int>(d * pipeline.microbatches), static_cast<int>(m), static_cast<int>(pipeline.microbatches),
          static_cast<int>(stages)};
}

void add_stage(LanePlace& lane, const StagePlace& stage, const Mesh& mesh, const StageRange& here) {
  lane.stages.push_back(stage);
  for (int i = 0; stage.stage == here.first && i < mesh.microbatches; ++i) {
    lane.replicas.push_back(mesh.place(stage.replica * mesh.microbatches + i, stage.model));
  }
  std::ranges::sort(lane.replicas);
}

std::vector<StagePlace> stages_of_worker(const Topology& topology) {
  const Mesh& mesh = topology.mesh;
  const StageRange here = topology.stages_here();
  std::vector<StagePlace> all;
  for (int stage = here.first; stage <= here.last; ++stage) {
    for (int replica = 0; replica < mesh.replicas(); ++replica) {
      if (topology.worker_of_stage(replica, stage) != topology.cluster.worker) continue;
      for (int model = 0; model < mesh.model; ++model) all.push_back({replica, stage, model});
    }
  }
  return all;
}

StageRange Topology::stages_here() const {
  const int in_row = memories_of_replica(), each = mesh.stages / in_row;
  const int first = cluster.worker % in_row * each;
  return {first, first + each - 1};
}

int Topology::worker_of_stage(int replica, int stage) const {
  const int in_row = memories_of_replica();
  if (in_row == 1) return replica / (mesh.replicas() / cluster.workers);
  return replica * in_row + stage / (mesh.stages / in_row);
}

}  // namespace mirrortrain
