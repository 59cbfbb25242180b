#include "train/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

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

/// How the sizes of many numbers are one. Where rounding decides the sign of a gradient, as Adam takes it, single
/// elements are far apart: the mean shows whether others are.
enum class Norm : std::uint8_t { kLargest, kRootMeanSquare };

double size_of(const std::vector<float>& elements, Norm norm = Norm::kLargest) {
  double size = 0, squares = 0;
  for (const float element : elements) {
    size = larger(std::abs(static_cast<double>(element)), size);
    squares += static_cast<double>(element) * static_cast<double>(element);
  }
  return norm == Norm::kLargest || elements.empty() ? size : std::sqrt(squares / static_cast<double>(elements.size()));
}

/// Relative to the reference's size, or to `least` if that is larger.
double difference(std::vector<float> value, const std::vector<float>& reference, double least, Norm norm) {
  for (std::size_t i = 0; i < value.size(); ++i) value[i] -= reference[i];
  return relative(size_of(value, norm), std::max(size_of(reference, norm), least));
}

/// Below which sizes of a variable differences are rounding, relative to the largest weight of the model, whose scale
/// the numbers in it have: a statistic may be 0 but for rounding, such as the mean of a normalization's output, and so
/// may a bias that was 0 at first.
double least_size(bool is_trained, double largest_weight) { return (is_trained ? 1e-4 : 1e-3) * largest_weight; }

double largest_weight(const Model& model, const std::vector<std::vector<float>>& values) {
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (model.variables[i].spec.trainable) largest = std::max(largest, size_of(values[i]));
  }
  return largest;
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
  options.type = kReplicasInProcess;
  options.reduce_to_device.reset();
  options.cpu_replicas.reset();
  options.replicas.reset();
  options.mesh = MeshOptions{std::int64_t{mesh.data}, std::int64_t{mesh.model}};
  if (mesh.places() == 1) options.pipeline.reset();  // what the others are compared with
  const int all = mesh.places() * (options.pipeline ? options.pipeline->stages() : 1);
  int count = std::min(all, static_cast<int>(devices.size()));
  while (all % count != 0 || (!options.pipeline && !mesh.fits(all / count))) --count;
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

/// Elements of variables, by the variables' numbers.
using HeldElements = std::map<std::size_t, std::vector<std::size_t>>;

/// The elements of trainable variables whose gradient is only rounding error: in the first step it is that much smaller
/// than the largest of all. A gradient that is exactly 0 is not included: it may change later.
HeldElements with_rounding_as_gradient(const CheckedConfiguration& checked, const Hardware& hardware) {
  constexpr double kRounding = 1e-6;
  // Like a worker of parameter servers, which stores gradients and applies none.
  Run run = run_on(checked, hardware, {}, {.parameter_servers = ParameterServerRole{}});
  TrainingState state;
  constexpr std::int64_t kNoUpdate = 2;
  TrainingSteps(*run.strategy, run.train.get(), *run.order, kNoUpdate, {LearningRate{}}).train(state);
  run.strategy->take_sums();
  std::map<std::size_t, std::vector<float>> gradients;
  double largest = 0;
  run.strategy->read_variables(Lasting::kAccumulated, [&](const LastingVariable& variable) {
    if (!variable.trainable || !variable.accumulated) return;  // a table's sparse gradient is nowhere as a whole
    std::vector<float>& gradient = gradients[variable.index] = elements_of(*variable.accumulated);
    largest = larger(size_of(gradient), largest);
  });
  HeldElements found;
  for (const auto& [i, gradient] : gradients) {
    const bool is_whole = size_of(gradient) > 0 && size_of(gradient) < kRounding * largest;
    // Of copies that may differ, only whole ones can be set to one value.
    if (!is_whole && checked.variables[i].policy.aggregation != Aggregation::kMean) continue;
    for (std::size_t element = 0; element < gradient.size(); ++element) {
      const double size = std::abs(static_cast<double>(gradient[element]));
      if (is_whole || (size > 0 && size < kRounding * largest)) found[i].push_back(element);
    }
  }
  return found;
}

/// Whether all elements of a variable are held.
bool holds_whole(const Model& model, const HeldElements::value_type& held) {
  return std::ssize(held.second) == model.variables[held.first].spec.shape.elements();
}

/// Trains on the mesh and calls after_step(loss, variables) after each step. The elements `held` keep their initial
/// values.
template <class AfterStep>
void train_steps(const CheckedConfiguration& checked, const Hardware& hardware, const Mesh& mesh, std::int64_t steps,
                 const HeldElements& held, const AfterStep& after_step) {
  Run run = run_on(checked, hardware, mesh);
  const std::vector<std::vector<float>> first = snapshot(*run.strategy);
  TrainingSteps training(run, checked.values());
  TrainingState state;
  while (state.step < steps) {
    training.train(state);
    const StepSums sums = run.strategy->take_sums().back();
    if (!held.empty()) {
      run.strategy->change_variables(Lasting::kValues, [&](const LastingVariable& variable) {
        const auto found = held.find(variable.index);
        if (found == held.end()) return;
        std::vector<float> values = elements_of(variable.value);
        for (const std::size_t element : found->second) values[element] = first[variable.index][element];
        variable.value.set(std::as_bytes(std::span(values)).data());
      });
    }
    after_step(sums.loss / static_cast<double>(sums.examples), snapshot(*run.strategy));
  }
}

}  // namespace

double Verification::largest(const VerifiedRun& run) {
  double worst = 0;
  for (const StepDifference& step : run.steps) worst = larger(worst, step.counted);
  return worst;
}

double Verification::largest() const {
  double worst = 0;
  for (const VerifiedRun& run : runs) worst = larger(worst, largest(run));
  return worst;
}

namespace {

/// What the precision's rounding changes on one place: the largest differences up to each step.
struct Rounding {
  std::vector<double> losses;
  std::vector<std::vector<double>> variables;

  /// Whether a difference is no larger than some times that: other orders of sums round otherwise.
  static bool explains(double rounding, double difference) {
    constexpr double kTimes = 4;
    return difference <= kTimes * rounding;
  }
};

}  // namespace

Verification verify_meshes(const CheckedConfiguration& checked, const std::vector<MeshToVerify>& meshes,
                           std::int64_t steps, const Hardware& hardware, const CheckedConfiguration* exact) {
  Verification verification;
  const HeldElements left_out = with_rounding_as_gradient(checked, hardware);
  for (const auto& held : left_out) {
    const std::string& name = checked.model->variables[held.first].spec.name;
    if (holds_whole(*checked.model, held)) {
      verification.left_out.push_back(name);
    } else {
      verification.elements_left_out += std::ssize(held.second);
    }
  }
  std::vector<std::vector<std::vector<float>>> reference;
  train_steps(checked, hardware, {}, steps, left_out, [&](double loss, std::vector<std::vector<float>> variables) {
    verification.losses.push_back(loss);
    reference.push_back(std::move(variables));
  });
  const auto differences = [&](std::size_t step, const std::vector<std::vector<float>>& variables, Norm norm) {
    const double largest = largest_weight(*checked.model, reference[step]);
    std::vector<double> all;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const double least = least_size(checked.model->variables[i].spec.trainable, largest);
      all.push_back(difference(variables[i], reference[step][i], least, norm));
    }
    return all;
  };
  Rounding rounding;
  const auto note_rounding = [&](double loss, const std::vector<std::vector<float>>& variables) {
    const std::size_t step = rounding.losses.size();
    rounding.losses.push_back(relative(loss - verification.losses[step], verification.losses[step]));
    rounding.variables.push_back(differences(step, variables, Norm::kRootMeanSquare));
    if (step == 0) return;
    rounding.losses[step] = larger(rounding.losses[step], rounding.losses[step - 1]);
    for (std::size_t i = 0; i < variables.size(); ++i) {
      rounding.variables[step][i] = larger(rounding.variables[step][i], rounding.variables[step - 1][i]);
    }
  };
  if (exact != nullptr) train_steps(*exact, hardware, {}, steps, left_out, note_rounding);
  for (const MeshToVerify& one : meshes) {
    if (one.mesh.places() == 1) continue;
    VerifiedRun& run = verification.runs.emplace_back(VerifiedRun{one.mesh, {}});
    const auto compare = [&](double loss, const std::vector<std::vector<float>>& variables) {
      const std::size_t step = run.steps.size();
      StepDifference now{relative(loss - verification.losses[step], verification.losses[step])};
      const bool is_exact = rounding.losses.empty();
      if (is_exact || !Rounding::explains(rounding.losses[step], now.loss)) now.counted = now.loss;
      for (const double of_variable : differences(step, variables, Norm::kLargest)) {
        now.weights = larger(now.weights, of_variable);
      }
      const std::vector<double> own = differences(step, variables, is_exact ? Norm::kLargest : Norm::kRootMeanSquare);
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (!is_exact && Rounding::explains(rounding.variables[step][i], own[i])) {
          verification.rounding = larger(verification.rounding, own[i]);
          continue;
        }
        auto& [name, most] = verification.most_different;
        if (own[i] > most || (std::isnan(own[i]) && !std::isnan(most))) {
          name = checked.model->variables[i].spec.name;
          most = own[i];
        }
        now.counted = larger(now.counted, own[i]);
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
