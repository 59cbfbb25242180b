#include "train/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "train/training_steps.h"

namespace mirrortrain {
namespace {

/// A variable as read outside the replicas.
std::vector<float> elements_of(const DistributedVariable& variable) {
  std::vector<float> elements(static_cast<std::size_t>(variable.shape().elements()));
  variable.read_or_first(reinterpret_cast<std::byte*>(elements.data()));
  return elements;
}

/// Every variable, one after the other.
std::vector<std::vector<float>> snapshot(Strategy& strategy) {
  std::vector<std::vector<float>> values;
  strategy.read_variables(Lasting::kValues,
                          [&](const LastingVariable& variable) { values.push_back(elements_of(variable.value)); });
  return values;
}

/// The maximum; NaN if either is.
double larger(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

double relative(double difference, double size) { return difference == 0 ? 0 : std::abs(difference) / std::abs(size); }

double size_of(const std::vector<float>& elements) {
  double size = 0;
  for (const float element : elements) size = std::max(size, std::abs(static_cast<double>(element)));
  return size;
}

/// Relative to the reference's largest element, or to `least` if that is larger.
double difference(const std::vector<float>& value, const std::vector<float>& reference, double least) {
  double worst = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    worst = larger(worst, std::abs(static_cast<double>(value[i]) - static_cast<double>(reference[i])));
  }
  return relative(worst, std::max(size_of(reference), least));
}

/// A statistic may be 0 up to rounding, such as the mean of a normalization's output; a weight's scale is that of
/// numbers in the model.
double least_size_of_statistics(const Model& model, const std::vector<std::vector<float>>& values) {
  constexpr double kOfWeights = 1e-3;
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (model.variables[i].spec.trainable) largest = std::max(largest, size_of(values[i]));
  }
  return kOfWeights * largest;
}

/// The devices that the configuration would use: its GPUs, or one CPU device per core.
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

/// Uses as many of the devices as divide the places.
StrategyOptions options_for(const StrategyOptions& configured, std::vector<DeviceId> devices, const Mesh& mesh) {
  StrategyOptions options = configured;
  options.type = StrategyType::kMirrored;
  options.reduce_to_device.reset();
  options.cpu_replicas.reset();
  options.replicas.reset();
  options.mesh = MeshOptions{std::int64_t{mesh.data}, std::int64_t{mesh.model}};
  int count = std::min(mesh.places(), static_cast<int>(devices.size()));
  while (mesh.places() % count != 0) --count;
  devices.resize(static_cast<std::size_t>(count));
  options.devices = std::move(devices);
  return options;
}

/// A run on this mesh, before its first step.
Run run_on(const CheckedConfiguration& checked, const Hardware& hardware, const Mesh& mesh, RunParts parts = {}) {
  const Configuration& values = checked.values();
  parts.strategy = options_for(values.strategy, usable_devices(values, hardware.machine), mesh);
  Run run = build_run(checked, parts, hardware);
  set_first_values(checked, *run.strategy);
  return run;
}

/// The numbers of trainable variables whose gradient is only rounding error: the largest element of the first step's is
/// that much smaller than those of other variables. A gradient that is exactly 0 is not included: it may change later.
std::set<std::size_t> with_rounding_as_gradient(const CheckedConfiguration& checked, const Hardware& hardware) {
  constexpr double kRounding = 1e-6;
  // Like a worker of parameter servers, which stores gradients and applies none.
  Run run = run_on(checked, hardware, {}, {.parameter_servers = ParameterServerRole{}});
  TrainingState state;
  constexpr std::int64_t kNoUpdate = 2;
  TrainingSteps(*run.strategy, run.train.get(), *run.order, kNoUpdate, LearningRate{}).train(state);
  run.strategy->take_sums();
  std::map<std::size_t, double> largest;
  double largest_of_all = 0;
  run.strategy->read_variables(Lasting::kAccumulated, [&](const LastingVariable& variable) {
    if (!variable.trainable) return;
    double& own = largest[variable.index];
    for (const float element : elements_of(*variable.accumulated)) {
      own = larger(std::abs(static_cast<double>(element)), own);
    }
    largest_of_all = larger(own, largest_of_all);
  });
  std::set<std::size_t> found;
  for (const auto& [i, size] : largest) {
    if (size > 0 && size < kRounding * largest_of_all) found.insert(i);
  }
  return found;
}

/// Trains on the mesh and calls after_step(loss, variables) after each step. The variables `held` keep their
/// initial values.
template <class AfterStep>
void train_steps(const CheckedConfiguration& checked, const Hardware& hardware, const Mesh& mesh, std::int64_t steps,
                 const std::set<std::size_t>& held, const AfterStep& after_step) {
  Run run = run_on(checked, hardware, mesh);
  const std::vector<std::vector<float>> first = snapshot(*run.strategy);
  TrainingSteps training(run, checked.values());
  TrainingState state;
  while (state.step < steps) {
    training.train(state);
    const StepSums sums = run.strategy->take_sums().back();
    if (!held.empty()) {
      run.strategy->write_variables(Lasting::kValues, [&](const LastingVariable& variable) {
        if (held.contains(variable.index)) variable.value.set(std::as_bytes(std::span(first[variable.index])).data());
      });
    }
    after_step(sums.loss / static_cast<double>(sums.examples), snapshot(*run.strategy));
  }
}

}  // namespace

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
  std::vector<MeshToVerify> meshes;
  for (const int count : replicas) meshes.push_back({{count, 1}, &checked});
  return verify_meshes(checked, meshes, steps, hardware);
}

Verification verify_meshes(const CheckedConfiguration& checked, const std::vector<MeshToVerify>& meshes,
                           std::int64_t steps, const Hardware& hardware) {
  Verification verification;
  const std::set<std::size_t> left_out = with_rounding_as_gradient(checked, hardware);
  for (const std::size_t i : left_out) verification.left_out.push_back(checked.model->variables[i].spec.name);
  std::vector<std::vector<std::vector<float>>> reference;
  train_steps(checked, hardware, {}, steps, left_out, [&](double loss, std::vector<std::vector<float>> variables) {
    verification.losses.push_back(loss);
    reference.push_back(std::move(variables));
  });
  for (const MeshToVerify& one : meshes) {
    if (one.mesh.places() == 1) continue;
    VerifiedRun& run = verification.runs.emplace_back(VerifiedRun{one.mesh, {}});
    const auto compare = [&](double loss, const std::vector<std::vector<float>>& variables) {
      const std::size_t step = run.steps.size();
      StepDifference now{relative(loss - verification.losses[step], verification.losses[step]), 0};
      const double least = least_size_of_statistics(*checked.model, reference[step]);
      for (std::size_t i = 0; i < variables.size(); ++i) {
        const bool trainable = checked.model->variables[i].spec.trainable;
        const double own = difference(variables[i], reference[step][i], trainable ? 0 : least);
        auto& [name, most] = verification.most_different;
        if (own > most || (std::isnan(own) && !std::isnan(most))) {
          name = checked.model->variables[i].spec.name;
          most = own;
        }
        now.weights = larger(now.weights, own);
      }
      run.steps.push_back(now);
    };
    train_steps(*one.checked, hardware, one.mesh, steps, left_out, compare);
  }
  return verification;
}

std::vector<std::string> differences_explained(const CheckedConfiguration& checked) {
  std::vector<std::string> reasons;
  const auto has_layer = [&](std::string_view type) {
    const auto& layers = checked.model->layers;
    return std::any_of(layers.begin(), layers.end(), [&](const LayerSummary& layer) { return layer.type == type; });
  };
  // A frozen layer assigns no statistics, and a synchronized one assigns those of the global batch.
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
