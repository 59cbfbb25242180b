#include "train/tensor_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "model/layer_of_variable.h"

namespace mirrortrain {
namespace {

/// The elements of each copy that can differ, of a float32 variable.
std::vector<std::span<const float>> floats_of(const DistributedVariable& variable) {
  std::vector<std::span<const float>> copies;
  for (const std::span<std::byte> storage : variable.storage()) {
    copies.emplace_back(reinterpret_cast<const float*>(storage.data()), storage.size() / sizeof(float));
  }
  return copies;
}

bool is_due(const std::optional<std::int64_t>& every_epochs, std::int64_t epoch) {
  return every_epochs && epoch % *every_epochs == 0;
}

}  // namespace

TensorStatistics::TensorStatistics(Strategy& strategy, const Model& model, const LoggingOptions& options,
                                   std::int64_t accumulate_steps)
    : strategy_(strategy), model_(model), options_(options), accumulate_steps_(accumulate_steps) {
  for (const ModelVariable& variable : model.variables) {
    layers_.push_back(layer_of_variable(model, variable.spec.name).value_or(0));
  }
}

/// Calls take(variable, copies of its gradient's sum, the number of gradients in it) on the chief.
template <class Take>
void TensorStatistics::read_gradients(const TrainingState& state, const Take& take) {
  const auto count = static_cast<double>(state.gradients > 0 ? state.gradients : accumulate_steps_);
  strategy_.read_variables(Lasting::kAccumulated, [&](const LastingVariable& variable) {
    if (is_chief() && variable.accumulated) take(variable, floats_of(*variable.accumulated), count);
  });
}

std::optional<report::GradientNorms> TensorStatistics::gradient_norms(const TrainingState& state) {
  if (!options_.gradient_norms || !has_gradients(state)) return std::nullopt;
  std::vector<double> squares(model_.layers.size());
  std::vector<bool> trains(model_.layers.size());
  read_gradients(state, [&](const LastingVariable& variable, const auto& copies, double count) {
    double sum = 0;
    for (const std::span<const float> copy : copies) {
      for (const float element : copy) sum += static_cast<double>(element) * element;
    }
    const std::size_t layer = layers_[variable.index];
    // Of gradients that replicas have for themselves, the mean over the replicas.
    squares[layer] += sum / (count * count) / static_cast<double>(copies.size());
    trains[layer] = true;
  });
  report::GradientNorms norms;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    norms.all += squares[i];
    if (trains[i]) norms.layers.emplace_back(model_.layers[i].name, std::sqrt(squares[i]));
  }
  norms.all = std::sqrt(norms.all);
  return norms;
}

std::optional<report::HistogramsEvent> TensorStatistics::histograms(const TrainingState& state) {
  const std::int64_t epoch = state.position.epoch;
  const bool of_variables = is_due(options_.histograms, epoch);
  const bool of_gradients = is_due(options_.gradient_histograms, epoch) && has_gradients(state);
  if (!of_variables && !of_gradients) return std::nullopt;
  report::HistogramsEvent event{.step = state.step, .epoch = epoch};
  if (of_variables) {
    std::vector<float> values;
    strategy_.read_variables(Lasting::kValues, [&](const LastingVariable& variable) {
      if (!is_chief()) return;
      values.resize(static_cast<std::size_t>(variable.value.shape().elements()));
      variable.value.read_or_first(reinterpret_cast<std::byte*>(values.data()));
      const std::span<const float> all[] = {values};
      event.variables.emplace_back(variable.value.name(), report::histogram_of(all));
    });
  }
  if (of_gradients) {
    std::vector<float> mean;
    read_gradients(state, [&](const LastingVariable& variable, const auto& copies, double count) {
      mean.clear();
      for (const std::span<const float> copy : copies) mean.insert(mean.end(), copy.begin(), copy.end());
      for (float& element : mean) element = static_cast<float>(element / count);
      const std::span<const float> all[] = {mean};
      event.gradients.emplace_back(variable.value.name(), report::histogram_of(all));
    });
  }
  return event;
}

}  // namespace mirrortrain
