#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "strategy/pipeline_stages.h"
#include "strategy/topology.h"

namespace mirrortrain {

// A pipeline whose stages are on several workers: what each of them computes, keeps, receives and sends.

/// How the layers of a model are dealt to the workers of a replica: each has as many stages, which follow each other.
struct StagesOfWorkers {
  std::map<std::string, int> of_layers;
  int stages = 1, workers = 1;

  int worker_of(int stage) const { return stage / (stages / workers); }
};

/// The values that go from one worker to the next: what later layers read of earlier ones, as far as forward passes go,
/// and what backward passes of earlier layers read of later ones. Of layers that are further apart, the workers between
/// pass the values on.
struct StageBoundary {
  std::vector<ValueId> up, down;
};

/// By worker but the last one: what it exchanges with the next for each microbatch.
std::vector<StageBoundary> stage_boundaries(const ModelGraph& graph, const StagesOfWorkers& workers, bool trains);

/// Throws WrongPipeline where a boundary has so many values that neighbours could wait for each other to receive, each
/// before it receives itself, as only some can be sent ahead. `in_flight`: Mesh::in_flight.
void check_boundaries(const Model& model, const StagesOfWorkers& workers, int in_flight);

/// The worker that computes with each variable, and keeps it. Throws WrongPipeline where several would.
std::vector<int> workers_of_variables(const Model& model, const StagesOfWorkers& workers);

/// What a worker does of a model's graph.
struct StageGraph {
  StageBoundary before, after;      ///< with the workers before and after it; empty where there is none
  StageRanges nodes;                ///< of the whole graph
  std::vector<std::size_t> origin;  ///< by node of the worker's graph: the whole graph's
};

/// The same of both graphs of a place.
struct PlaceStages {
  StageGraph training, evaluation;
};

/// A worker's part of a model.
struct StageModel {
  /// Its graphs have the nodes of the worker's stages alone; no node computes what it receives, or what others do.
  Model model;
  /// By index on the axis `model`: places have the same nodes, but what crosses a boundary may have another id, as each
  /// place takes its own part of a gathered value's gradient.
  std::vector<PlaceStages> places;
  std::set<std::size_t> elsewhere;  ///< variables that others keep
};

StageModel model_of_stages(const Model& model, const StagesOfWorkers& workers, int worker);

}  // namespace mirrortrain
