#include "train/checkpoint/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/safetensors.h"
#include "base/utf8.h"

namespace mirrortrain {

void initialize_weights(const Model& model, const VariableStore& variables, std::uint64_t seed) {
  std::vector<float> values;
  for (std::size_t i = 0; i < model.variables.size(); ++i) {
    values.resize(static_cast<std::size_t>(model.variables[i].spec.shape.elements()));
    model.variables[i].initialize(values, seed);
    variables.variables()[i].set(std::as_bytes(std::span(values)).data());
  }
}

void initialize_slots(const std::vector<float>& first, const VariableStore& variables) {
  std::vector<float> values;
  for (std::size_t i = 0; i < variables.variables().size(); ++i) {
    if (!variables.trainable(i)) continue;
    for (int slot = 0; slot < variables.slots(); ++slot) {
      const DistributedVariable of_weight = variables.slot(i, slot);
      values.assign(static_cast<std::size_t>(of_weight.shape().elements()), first.at(static_cast<std::size_t>(slot)));
      of_weight.set(std::as_bytes(std::span(values)).data());
    }
  }
}

void throw_mismatches(const std::string& file, std::vector<std::string> mismatches, const std::string& remedy) {
  if (mismatches.empty()) return;
  constexpr std::size_t kShown = 10;
  const std::size_t more = mismatches.size() > kShown ? mismatches.size() - kShown : 0;
  if (more > 0) mismatches.resize(kShown);
  throw Error(fmt::format("{}: the weights do not fit the model{}:\n  {}{}", file, remedy,
                          fmt::join(mismatches, "\n  "), more > 0 ? fmt::format("\n  and {} more", more) : ""));
}

void load_weights(const std::filesystem::path& file, const VariableStore& variables, const std::string& remedy) {
  load_weights(read_safetensors(file), file.string(), variables, remedy);
}

void load_weights(const StoredTensors& stored, const std::string& file, const VariableStore& variables,
                  const std::string& remedy) {
  std::vector<std::string> mismatches;
  for (const DistributedVariable& variable : variables.variables()) {
    const auto found = stored.find(variable.name());
    if (found == stored.end()) {
      mismatches.push_back(fmt::format("{} {} is missing", variable.name(), variable.shape().text()));
    } else if (found->second.shape != variable.shape()) {
      mismatches.push_back(fmt::format("{}: the model has the shape {}, the file {}", variable.name(),
                                       variable.shape().text(), found->second.shape.text()));
    } else if (found->second.dtype != DType::kFloat32) {
      mismatches.push_back(fmt::format("{}: expected float32, found {}; convert the weights to F32", variable.name(),
                                       name_of(found->second.dtype)));
    }
  }
  for (const auto& [name, tensor] : stored) {
    bool known = false;
    for (const DistributedVariable& variable : variables.variables()) known = known || variable.name() == name;
    if (!known)
      mismatches.push_back(fmt::format("{} {} is not in the model", shortened(name, 200), tensor.shape.text()));
  }
  throw_mismatches(file, std::move(mismatches), remedy);
  for (const DistributedVariable& variable : variables.variables()) {
    variable.set(stored.find(variable.name())->second.data.data());
  }
}

StoredTensors copy_weights(const VariableStore& variables) {
  StoredTensors weights;
  for (const DistributedVariable& variable : variables.variables()) {
    StoredTensor& tensor = weights[variable.name()];
    tensor = {variable.dtype(), variable.shape(), std::vector<std::byte>(variable.bytes())};
    variable.read_or_first(tensor.data.data());
  }
  return weights;
}

std::uint32_t save_weights(const std::filesystem::path& file, const VariableStore& variables) {
  const StoredTensors weights = copy_weights(variables);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : weights) tensors.push_back({name, tensor.dtype, tensor.shape, tensor.data});
  return write_safetensors(file, std::move(tensors));
}

}  // namespace mirrortrain
