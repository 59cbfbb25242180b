#include "train/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "runtime/arena.h"

namespace mirrortrain {
namespace {

/// Every variable as reading it outside the replicas gives it, one after the other.
std::vector<std::vector<float>> snapshot(const VariableStore& variables) {
  std::vector<std::vector<float>> values;
  for (const DistributedVariable& variable : variables.variables()) {
    auto& elements = values.emplace_back(static_cast<std::size_t>(variable.shape().elements()));
    variable.read_or_first(reinterpret_cast<std::byte*>(elements.data()));
  }
  return values;
}

/// The larger one; not a number where either is not.
double larger(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

double relative(double difference, double size) { return difference == 0 ? 0 : std::abs(difference) / std::abs(size); }

double difference(const std::vector<float>& value, const std::vector<float>& reference) {
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    worst = larger(worst, std::abs(static_cast<double>(value[i]) - static_cast<double>(reference[i])));
    size = std::max(size, std::abs(static_cast<double>(reference[i])));
  }
  return relative(worst, size);
}

/// Whether all that reads `value`, backward passes included, is a batch normalization, or an attention as its keys.
bool loses_its_sum(const Graph& graph, ValueId value) {
  return std::ranges::all_of(graph.nodes(), [&](const Node& node) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != value) continue;
      const std::string_view name = node.op->name();
      if (!name.starts_with("batch_norm") && !(name.starts_with("attention") && i == 1)) return false;
    }
    return true;
  });
}

/// Where the configuration would run: its GPUs, or as many CPU devices as there are cores.
std::vector<DeviceId> usable_devices(const Configuration& values, const Machine& machine) {
  const Topology configured = make_topology(values.strategy, values.data.global_batch_size, machine);
  std::vector<DeviceId> devices;
  if (configured.on_gpus()) {
    for (const LanePlace& lane : configured.lanes) devices.push_back(lane.device);
  } else {
    for (int i = 0; i < static_cast<int>(machine.cores.size()); ++i) devices.push_back({DeviceId::Kind::kCpu, i});
  }
  return devices;
}

/// On as many of the devices as divide the replicas.
StrategyOptions options_for(const StrategyOptions& configured, std::vector<DeviceId> devices, int replicas) {
  StrategyOptions options = configured;
  options.type = StrategyType::kMirrored;
  options.reduce_to_device.reset();
  options.cpu_replicas.reset();
  options.replicas = replicas;
  int count = std::min(replicas, static_cast<int>(devices.size()));
  while (replicas % count != 0) --count;
  devices.resize(static_cast<std::size_t>(count));
  options.devices = std::move(devices);
  return options;
}

/// Trains on `replicas` replicas and calls after_step(loss, variables) after each step.
template <class AfterStep>
void train_steps(const CheckedConfiguration& checked, const Hardware& hardware, int replicas, std::int64_t steps,
                 const AfterStep& after_step) {
  const Configuration& values = checked.values();
  const StrategyOptions options = options_for(values.strategy, usable_devices(values, hardware.machine), replicas);
  Run run = build_run(checked, {.strategy = options}, hardware);
  set_first_values(checked, run.strategy->variables());
  run.strategy->variables_changed();
  TrainingSteps training = run.steps(values);
  TrainingState state;
  while (state.step < steps) {
    training.train(state);
    const StepSums& sums = run.strategy->take_sums().back();
    after_step(sums.loss / static_cast<double>(sums.examples), snapshot(run.strategy->variables()));
  }
}

}  // namespace

std::vector<bool> without_effect(const ModelGraph& model) {
  const Graph& graph = model.graph;
  const std::vector<ValueId> roots = liveness_of(graph, {}).roots;  // a bias may be read in another shape
  std::vector<bool> without(model.variables.size(), false);
  for (const Node& node : graph.nodes()) {
    const bool sums = node.op->name() == "dense" || node.op->name() == "conv2d";
    if (!sums || node.inputs.size() < 3 || node.inputs[2] == kNoValue) continue;
    const auto bias = std::ranges::find(model.variables, roots[index(node.inputs[2])]);
    if (bias != model.variables.end() && loses_its_sum(graph, node.outputs[0])) {
      without[static_cast<std::size_t>(bias - model.variables.begin())] = true;
    }
  }
  return without;
}

double Verification::largest(const VerifiedRun& run) {
  double worst = 0;
  for (const StepDifference& step : run.steps) worst = larger(worst, larger(step.loss, step.weights));
  return worst;
}

double Verification::largest() const {
  double worst = 0;
  for (const VerifiedRun& run : runs) worst = larger(worst, largest(run));
  return worst;
}

Verification verify_replicas(const CheckedConfiguration& checked, const std::vector<int>& replicas, std::int64_t steps,
                             const Hardware& hardware) {
  Verification verification;
  const std::vector<bool> left_out = without_effect(checked.model->training);
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    if (left_out[i]) verification.left_out.push_back(checked.model->variables[i].spec.name);
  }
  std::vector<std::vector<std::vector<float>>> reference;
  train_steps(checked, hardware, 1, steps, [&](double loss, std::vector<std::vector<float>> variables) {
    verification.losses.push_back(loss);
    reference.push_back(std::move(variables));
  });
  for (const int count : replicas) {
    if (count == 1) continue;
    VerifiedRun& run = verification.runs.emplace_back(VerifiedRun{count, {}});
    train_steps(checked, hardware, count, steps, [&](double loss, const std::vector<std::vector<float>>& variables) {
      const std::size_t step = run.steps.size();
      StepDifference now{relative(loss - verification.losses[step], verification.losses[step]), 0};
      for (std::size_t i = 0; i < variables.size(); ++i) {
        if (i < left_out.size() && left_out[i]) continue;
        now.weights = larger(now.weights, difference(variables[i], reference[step][i]));
      }
      run.steps.push_back(now);
    });
  }
  return verification;
}

std::vector<std::string> differences_explained(const CheckedConfiguration& checked) {
  std::vector<std::string> reasons;
  const auto has_layer = [&](std::string_view type) {
    const auto& layers = checked.model->layers;
    return std::any_of(layers.begin(), layers.end(), [&](const LayerSummary& layer) { return layer.type == type; });
  };
  // A frozen one writes no statistics, a synchronized one those of the global batch.
  const ModelGraph& training = checked.model->training;
  if (std::ranges::any_of(training.assignments, [&](const Assignment& assignment) {
        return training.graph.depends_on_rows(assignment.value);
      })) {
    reasons.emplace_back(
        "expected: batch_normalization normalizes by the statistics of the replica's own examples, so its output "
        "depends on how the batch is split; with `synchronized: true` it does not");
  }
  for (std::size_t i = 0; i < checked.variables.size(); ++i) {
    const auto& [policy, why] = checked.variables[i];
    if (!checked.model->variables[i].spec.trainable || policy.aggregation == Aggregation::kMean) continue;
    reasons.push_back(fmt::format("expected: {}: {} does not give the gradient of the mean over the global batch ({})",
                                  checked.model->variables[i].spec.name, policy.text(), why));
  }
  if (has_layer("dropout")) {
    reasons.emplace_back(
        "not the cause: dropout, whose masks follow from seed, step, layer and example, not from the replica");
  }
  return reasons;
}

}  // namespace mirrortrain
