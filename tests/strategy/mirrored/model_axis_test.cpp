// Two places of the axis `model`, each with half of a layer, give what one place with the whole layer gives.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "collective/thread_group.h"
#include "data/feeding/feeder.h"
#include "data/loading/load.h"
#include "data/one_spec.h"
#include "graph/gradients.h"
#include "graph/ops/arrange.h"
#include "graph/ops/collective.h"
#include "graph/ops/dense.h"
#include "graph/ops/loss.h"
#include "kernels/cpu/backend.h"
#include "strategy/mirrored/mirrored_strategy.h"

namespace mirrortrain {
namespace {

constexpr std::int64_t kIn = 6, kHidden = 10, kOut = 4, kBatch = 7;
constexpr int kSteps = 5;

/// How the halves of the hidden layer become one again.
enum class Joined { kBySum, kByGathering };

/// tanh(x k) v as one of `places` places computes it: with its columns of k and, if the halves are joined by their sum,
/// its rows of v.
ModelGraph graph_of(int places, Joined joined, bool trains) {
  ModelGraph made;
  Graph& graph = made.graph;
  const ValueId x = graph.input("x", {DType::kFloat32, {kIn}, true});
  const ValueId labels = graph.input("labels", {DType::kFloat32, {kOut}, true});
  const bool splits_second = joined == Joined::kBySum;
  const ValueId k = graph.variable({"k", {kIn, kHidden / places}}),
                v = graph.variable({"v", {splits_second ? kHidden / places : kHidden, kOut}});
  graph.set_layer("hidden");
  ValueId hidden = graph.apply_one(ops::Dense(ops::ActivationKind::kTanh), {x, k, kNoValue});
  if (places > 1 && !splits_second) {
    hidden = graph.apply_one(ops::Concatenate(0), graph.apply(ops::AllGather(ops::Axis::kModel, places), {hidden}));
  }
  graph.set_layer("out");
  ValueId y = graph.apply_one(ops::Dense(), {hidden, v, kNoValue});
  if (places > 1 && splits_second) y = graph.apply_one(ops::AllReduce(ops::Axis::kModel), {y});
  const ValueId loss = graph.apply_one(ops::Loss(ops::LossKind::kMeanSquaredError), {y, labels});
  made.inputs = {{x}};
  made.outputs = {{y, kNoValue, labels}};
  made.outputs[0].loss = loss;
  made.variables = {k, v};
  if (trains) made.gradients = add_gradients(graph, {{loss, 1.0f / static_cast<float>(places)}}, {k, v});
  return made;
}

Model model_of(int places, Joined joined) {
  Model model;
  model.training = graph_of(places, joined, true);
  model.evaluation = graph_of(places, joined, false);
  for (const ValueId variable : model.training.variables) {
    const Graph::Value& value = model.training.graph.value(variable);
    model.variables.push_back({{value.name, value.spec.shape, true}, [](std::span<float>, std::uint64_t) {}});
  }
  model.inputs = {"x"};
  model.outputs = {{"y"}};
  model.layers = {{"hidden", "dense", {kHidden}, kIn * kHidden}, {"out", "dense", {kOut}, kHidden * kOut}};
  return model;
}

float first_value(std::int64_t row, std::int64_t column) { return std::sin(1.7f * float(row) + 0.9f * float(column)); }

/// The losses of the steps, then the weights at the end: of k, and of v.
struct Trained {
  std::vector<double> losses;
  std::vector<float> k, v;
  friend bool operator==(const Trained&, const Trained&) = default;
};

/// `lanes`: the places that each lane of this process has.
Trained train(const Mesh& mesh, Joined joined, const std::vector<std::vector<int>>& lanes, const Cluster& cluster = {},
              Communicator* worker = nullptr) {
  data::DataOptions options;
  data::Synthetic synthetic;
  synthetic.examples = kBatch;
  synthetic.shape.value = {kIn};
  synthetic.only.label_shape.value = {kOut};
  options.train.value = synthetic;
  const data::Feeder feeder(data::load(options, 0, nullptr).train, {}, data::OneSpec{Shape{kIn}, Shape{kOut}});
  const Model model = model_of(mesh.model, joined);
  Topology topology;
  topology.cluster = cluster;
  topology.mesh = mesh;
  topology.cores_of_their_own = false;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    topology.lanes.push_back({{DeviceId::Kind::kCpu, static_cast<int>(i)}, 1, {}, lanes[i]});
  }
  MirroredParts parts;
  parts.rule = scalar::Sgd{};
  const bool has_halves = mesh.model > 1, halves_second = has_halves && joined == Joined::kBySum;
  const VariablePolicy own{Synchronization::kOnWrite, Aggregation::kNone}, whole{};
  parts.policies = {has_halves ? own : whole, halves_second ? own : whole};
  parts.backend = {std::shared_ptr<void>(), &cpu::backend()};
  parts.communicators = [worker](const Topology&, const StrategyOptions&, const ReductionChoice&, const Backend&,
                                 std::span<Device* const>) {
    return RunCommunicators{{nullptr, {worker}}, worker};
  };
  MirroredStrategy strategy(topology, model, parts);
  strategy.prepare({{kBatch}, {}, {}});

  const auto part_of = [&](const DistributedVariable& variable, int place) {
    return variable.policy() == own ? mesh.model_index(place) : 0;
  };
  const std::vector<DistributedVariable>& variables = strategy.variables().variables();
  for (int place = 0; place < mesh.places(); ++place) {
    for (std::int64_t i = 0; i < kIn; ++i) {
      const std::int64_t columns = kHidden / mesh.model, first = part_of(variables[0], place) * columns;
      for (std::int64_t c = 0; c < columns; ++c)
        variables[0].copy(place).span<float>()[static_cast<std::size_t>(i * columns + c)] = first_value(i, first + c);
    }
    const std::int64_t rows = variables[1].shape()[0], first = part_of(variables[1], place) * rows;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < kOut; ++c)
        variables[1].copy(place).span<float>()[static_cast<std::size_t>(r * kOut + c)] = first_value(first + r, 20 + c);
    }
  }
  strategy.variables_changed();

  Trained trained;
  std::vector<std::int64_t> rows(kBatch);
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  for (int step = 1; step <= kSteps; ++step) {
    strategy.train({&feeder, rows, 1, step, 1, true, false, step, 0.1});
    const StepSums sums = strategy.take_sums()[0];
    trained.losses.push_back(sums.loss / static_cast<double>(sums.examples));
  }
  const VariableStore& after = strategy.variables();
  trained.k.resize(kIn * kHidden);
  trained.v.resize(kHidden * kOut);
  for (int place = mesh.places() - 1; place >= 0; --place) {
    const auto k = after.variables()[0].copy(place).span<float>(), v = after.variables()[1].copy(place).span<float>();
    const std::int64_t columns = kHidden / mesh.model, first = part_of(after.variables()[0], place) * columns;
    for (std::int64_t i = 0; i < kIn * columns; ++i) {
      trained.k[static_cast<std::size_t>(i / columns * kHidden + first + i % columns)] = k[static_cast<std::size_t>(i)];
    }
    std::ranges::copy(v, trained.v.begin() + part_of(after.variables()[1], place) * std::ssize(v));
  }
  return trained;
}

Trained train_on_workers(const Mesh& mesh, Joined joined) {
  const testing::ThreadGroup group(2);
  std::vector<Trained> trained(2);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 2; ++worker) {
    threads.emplace_back([&, worker] {
      trained[static_cast<std::size_t>(worker)] =
          train(mesh, joined, {{worker}}, {2, worker}, &group.communicator(worker));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(trained[1] == trained[0]);
  return trained[0];
}

template <class Number>
double largest_difference(const std::vector<Number>& a, const std::vector<Number>& b) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(double(a[i]) - double(b[i])));
    largest = std::max(largest, std::abs(double(b[i])));
  }
  return worst / largest;
}

TEST_CASE("two places with half of a layer each have the same bits on one lane, two lanes and two workers") {
  for (const Joined joined : {Joined::kBySum, Joined::kByGathering}) {
    CAPTURE(static_cast<int>(joined));
    const Trained whole = train({}, joined, {{0}});
    CHECK(whole.losses.back() < 0.9 * whole.losses.front());
    const Mesh mesh{1, 2};
    const Trained one = train(mesh, joined, {{0, 1}});
    CHECK(train(mesh, joined, {{0}, {1}}) == one);
    CHECK(train_on_workers(mesh, joined) == one);
    CHECK(largest_difference(one.losses, whole.losses) < 1e-6);
    CHECK(largest_difference(one.k, whole.k) < 1e-6);
    CHECK(largest_difference(one.v, whole.v) < 1e-6);
  }
}

}  // namespace
}  // namespace mirrortrain
