#include "strategy/stage_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "collective/communicator.h"
#include "model/layer_of_variable.h"
#include "runtime/arena.h"

namespace mirrortrain {
namespace {

/// Values that a worker can send to a neighbour before it receives the first, whatever their length; to send the next
/// one it waits.
constexpr std::size_t kMostUnderWay = Communicator::kMostAhead;

/// The nodes of a graph, dealt to the workers.
class DealtNodes {
 public:
  DealtNodes(const Graph& graph, const StagesOfWorkers& workers, bool trains)
      : graph_(graph),
        roots_(storage_roots(graph)),
        ranges_(stages_of_nodes(graph, workers), workers.stages, trains),
        worker_of_(graph.nodes().size(), 0) {
    for (int stage = 0; stage < workers.stages; ++stage) {
      for (const bool backward : {false, true}) {
        if (backward && !trains) continue;
        const auto [first, last] = ranges_.of(stage, backward);
        std::fill(worker_of_.begin() + static_cast<std::ptrdiff_t>(first),
                  worker_of_.begin() + static_cast<std::ptrdiff_t>(last), workers.worker_of(stage));
      }
    }
  }

  const StageRanges& ranges() const { return ranges_; }
  int worker_of(std::size_t node) const { return worker_of_[node]; }
  /// The worker that computes a value; -1 for an input or a variable.
  int worker_of_value(ValueId value) const {
    const Graph::Value& root = graph_.value(roots_[index(value)]);
    return root.source == Graph::Source::kNode ? worker_of_[static_cast<std::size_t>(root.producer)] : -1;
  }
  /// Calls body(worker, root) for what each node reads.
  template <class Body>
  void for_each_read(const Body& body) const {
    for (std::size_t node = 0; node < worker_of_.size(); ++node) {
      const Node& of = graph_.nodes()[node];
      if (of.op->is_alias()) continue;
      for (const ValueId input : of.inputs) {
        if (input != kNoValue) body(worker_of_[node], roots_[index(input)]);
      }
    }
  }

 private:
  static std::vector<int> stages_of_nodes(const Graph& graph, const StagesOfWorkers& workers) {
    std::vector<int> stages;
    for (const Node& node : graph.nodes()) {
      const auto found = workers.of_layers.find(node.layer);
      stages.push_back(found == workers.of_layers.end() ? -1 : found->second);
    }
    return stages;
  }

  const Graph& graph_;
  std::vector<ValueId> roots_;
  StageRanges ranges_;
  std::vector<int> worker_of_;  ///< by node
};

std::vector<StageBoundary> boundaries_of(const DealtNodes& nodes, int workers) {
  std::vector<std::pair<std::set<ValueId>, std::set<ValueId>>> crossing(static_cast<std::size_t>(workers - 1));
  nodes.for_each_read([&](int reader, ValueId value) {
    const int maker = nodes.worker_of_value(value);
    if (maker < 0) return;
    for (int i = maker; i < reader; ++i) crossing[static_cast<std::size_t>(i)].first.insert(value);
    for (int i = reader; i < maker; ++i) crossing[static_cast<std::size_t>(i)].second.insert(value);
  });
  std::vector<StageBoundary> boundaries;
  for (const auto& [up, down] : crossing) boundaries.push_back({{up.begin(), up.end()}, {down.begin(), down.end()}});
  return boundaries;
}

/// The worker's part of a graph. Aliases stay everywhere: they take neither time nor memory.
StageGraph keep_own_nodes(ModelGraph& made, const StagesOfWorkers& workers, int worker, bool trains) {
  const DealtNodes nodes(made.graph, workers, trains);
  const std::vector<StageBoundary> boundaries = boundaries_of(nodes, workers.workers);
  StageGraph part{{}, {}, nodes.ranges(), {}};
  if (worker > 0) part.before = boundaries[static_cast<std::size_t>(worker - 1)];
  if (worker + 1 < workers.workers) part.after = boundaries[static_cast<std::size_t>(worker)];
  for (ValueId& gradient : made.gradients) {
    if (gradient != kNoValue && nodes.worker_of_value(gradient) != worker) gradient = kNoValue;
  }
  std::vector<Node> own;
  for (std::size_t node = 0; node < made.graph.nodes().size(); ++node) {
    if (nodes.worker_of(node) != worker && !made.graph.nodes()[node].op->is_alias()) continue;
    own.push_back(made.graph.nodes()[node]);
    part.origin.push_back(node);
  }
  made.graph = made.graph.with_nodes(std::move(own));
  return part;
}

}  // namespace

std::vector<StageBoundary> stage_boundaries(const ModelGraph& graph, const StagesOfWorkers& workers, bool trains) {
  return boundaries_of(DealtNodes(graph.graph, workers, trains), workers.workers);
}

/// Neighbours that both wait to send have microbatches on the way up and others on the way down, each as many as fill
/// the direction, and all of them are between forward and backward. In evaluation all values go up, so that the last
/// worker never waits to send.
void check_boundaries(const Model& model, const StagesOfWorkers& workers, int in_flight) {
  const auto fill = [](const std::vector<ValueId>& values) {
    return kMostUnderWay / std::max<std::size_t>(1, values.size()) + 1;
  };
  const std::vector<StageBoundary> boundaries = stage_boundaries(model.training, workers, true);
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    const auto& [up, down] = boundaries[i];
    if (fill(up) + fill(down) > static_cast<std::size_t>(in_flight)) continue;
    const std::size_t stage = (i + 1) * static_cast<std::size_t>(workers.stages / workers.workers);
    throw WrongPipeline(fmt::format(
        "the layers from stage {} on, which other workers have, read {} values of earlier layers and send {} "
        "gradients back, of each of {} microbatches at once, more than the {} that can be under way in each direction; "
        "begin the stage at a layer after those that join them, or use fewer microbatches",
        stage + 1, up.size(), down.size(), in_flight, kMostUnderWay));
  }
}

std::vector<int> workers_of_variables(const Model& model, const StagesOfWorkers& workers) {
  std::vector<std::set<int>> readers(model.variables.size());
  for (const bool trains : {true, false}) {
    const ModelGraph& made = model.graph(trains, 0);
    const DealtNodes nodes(made.graph, workers, trains);
    std::map<ValueId, std::size_t> numbers;
    for (std::size_t i = 0; i < made.variables.size(); ++i) numbers[made.variables[i]] = i;
    nodes.for_each_read([&](int worker, ValueId value) {
      if (const auto found = numbers.find(value); found != numbers.end()) readers[found->second].insert(worker);
    });
    for (std::size_t i = 0; trains && i < made.gradients.size(); ++i) {
      if (made.gradients[i] != kNoValue) readers[i].insert(nodes.worker_of_value(made.gradients[i]));
    }
  }
  std::vector<int> of_variables;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const std::string& name = model.variables[i].spec.name;
    if (readers[i].size() > 1) {
      throw WrongPipeline(fmt::format(
          "'{}' is read by layers of stages that are on several workers ({} of a replica's), and only one can "
          "keep it; let these layers be in stages of one worker",
          name, fmt::join(readers[i], " and ")));
    }
    const std::optional<std::size_t> layer = layer_of_variable(model, name);
    const int of_layer = layer ? workers.worker_of(workers.of_layers.at(model.layers[*layer].name)) : 0;
    of_variables.push_back(readers[i].empty() ? of_layer : *readers[i].begin());
  }
  return of_variables;
}

StageModel model_of_stages(const Model& model, const StagesOfWorkers& workers, int worker) {
  StageModel part{model, {}, {}};
  const std::vector<int> keepers = workers_of_variables(model, workers);
  for (std::size_t i = 0; i < keepers.size(); ++i) {
    if (keepers[i] != worker) part.elsewhere.insert(i);
  }
  const auto add_place = [&](ModelGraph& training, ModelGraph& evaluation) {
    part.places.push_back(
        {keep_own_nodes(training, workers, worker, true), keep_own_nodes(evaluation, workers, worker, false)});
  };
  add_place(part.model.training, part.model.evaluation);
  for (PlaceGraphs& other : part.model.other_places) add_place(other.training, other.evaluation);
  const auto keep = [&](auto& graphs) {
    keep_own_nodes(graphs.training, workers, worker, true);
    keep_own_nodes(graphs.evaluation, workers, worker, false);
  };
  for (ShorterGraphs& shorter : part.model.shorter) {
    keep(shorter);
    std::ranges::for_each(shorter.other_places, keep);
  }
  return part;
}

}  // namespace mirrortrain
