#include "train/configuration/checked_configuration.h"

#include <fmt/format.h>

namespace mirrortrain {

CheckedConfiguration::CheckedConfiguration() = default;
CheckedConfiguration::CheckedConfiguration(CheckedConfiguration&&) noexcept = default;
CheckedConfiguration& CheckedConfiguration::operator=(CheckedConfiguration&&) noexcept = default;
CheckedConfiguration::~CheckedConfiguration() = default;

config::Place CheckedConfiguration::place_of(const std::string& key) const {
  const auto found = read.document.origins.find(key);
  return found == read.document.origins.end() ? config::Place{} : found->second;
}

std::string CheckedConfiguration::of_input(std::size_t input) const {
  return examples.inputs.size() > 1 ? fmt::format(" of '{}'", examples.inputs[input].name) : "";
}

std::string CheckedConfiguration::of_output(std::size_t output) const {
  return examples.labels.size() > 1 ? fmt::format(" of '{}'", examples.labels[output].name) : "";
}

std::string CheckedConfiguration::input_option(std::size_t input) const {
  return examples.inputs.size() > 1 ? fmt::format(", input: {}", examples.inputs[input].name) : "";
}

std::vector<data::PreprocessingStep> CheckedConfiguration::steps_of(std::size_t input) const {
  return data::steps_of_input(values().data.preprocessing, examples.inputs[input].name);
}

std::vector<VariablePolicy> CheckedConfiguration::policies() const {
  std::vector<VariablePolicy> policies;
  for (const ResolvedVariable& variable : variables) policies.push_back(variable.policy);
  return policies;
}

}  // namespace mirrortrain
