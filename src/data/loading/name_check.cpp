#include "data/loading/name_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/known_names.h"
#include "config/names.h"
#include "config/scalar.h"

namespace mirrortrain::data {
namespace {

constexpr std::string_view kTrainPath = "data.train";

template <class Spec>
std::vector<std::string> names_of(const std::vector<Spec>& specs) {
  std::vector<std::string> names;
  for (const Spec& spec : specs) names.push_back(spec.name);
  return names;
}

std::string unknown_name(const std::string& name, std::string_view what, const std::vector<std::string>& names) {
  return fmt::format("the model has no {} '{}'{}", what, config::shortened(name),
                     config::suggestion_or_known(name, names));
}

}  // namespace

NameCheck::NameCheck(const DataOptions& options, const ExampleSpec& spec, const PlaceOf& place_of,
                     config::Errors& errors)
    : spec_(spec), place_of_(place_of), errors_(errors) {
  inputs_.wanted = names_of(spec.inputs);
  outputs_.wanted = names_of(spec.labels);
  if (const Csv* table = table_in(options.train.value)) inputs_of_tables_ = table->field_names().inputs;
}

KnownSteps NameCheck::known_steps(const std::vector<PreprocessingStep>& steps) {
  KnownSteps known;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t before = errors_.count();
    config::visit(
        [&](const auto& step) {
          const std::string path = fmt::format("data.preprocessing[{}].{}", i, step.kName);
          if constexpr (std::is_base_of_v<Mixing, std::decay_t<decltype(step)>>) {
            for (const std::string& name : step.inputs.value.value_or(std::vector<std::string>())) {
              if (std::ranges::count(inputs_.wanted, name) > 0) continue;
              errors_.add(step.inputs.place, step.inputs.path, unknown_name(name, inputs_.what, inputs_.wanted));
            }
          } else if constexpr (requires { step.input; }) {
            check_name(step.input, inputs_, path);
          } else {
            check_name(step.output, outputs_, path);
          }
        },
        steps[i]);
    if (errors_.count() != before) continue;
    known.steps.push_back(steps[i]);
    known.numbers.push_back(i);
  }
  known.are_all = known.steps.size() == steps.size();
  for (const InputSpec& input : spec_.inputs) known.of_input.push_back(steps_of_input(known.steps, input.name));
  return known;
}

void NameCheck::check_name(const config::Located<std::optional<std::string>>& given, const NamedSection& section,
                           const std::string& path) {
  if (!given.value && section.wanted.size() > 1) {
    errors_.add(place_of_(path), path,
                fmt::format("the model has several {0}s: add {0}: with one of {1}", section.what,
                            fmt::join(section.wanted, ", ")));
  } else if (given.value && std::ranges::count(section.wanted, *given.value) == 0) {
    errors_.add(given.place, given.path, unknown_name(*given.value, section.what, section.wanted));
  }
}

bool NameCheck::fit(const FieldNames& names, bool inherits, const config::Place& place, const std::string& path) {
  for (const NamedSection* const section : {&inputs_, &outputs_}) {
    const bool repeats_train = inherits && section->is_wrong_in_train && path != kTrainPath &&
                               !place_of_(fmt::format("{}.{}", path, section->key)).given();
    if (repeats_train) return false;
  }
  const bool inputs_fit = check_names(inputs_, names.inputs, place, path);
  const bool outputs_fit = check_names(outputs_, names.outputs, place, path);
  if (path == kTrainPath) {
    inputs_.is_wrong_in_train = !inputs_fit;
    outputs_.is_wrong_in_train = !outputs_fit;
  }
  return inputs_fit && outputs_fit;
}

bool NameCheck::check_names(const NamedSection& section, const std::vector<std::string>& given,
                            const config::Place& place, const std::string& path) {
  const auto& [what, key, wanted, is_wrong_in_train] = section;
  const bool has_names = given.size() != 1 || !given.front().empty();
  if (!has_names && wanted.size() == 1) return true;
  const std::string below = fmt::format("{}.{}", path, key);
  const std::size_t before = errors_.count();
  if (!has_names) {
    errors_.add(place, path,
                fmt::format("expected {0} by name, as the model has several {1}s: {0}: {{{2}: ...}}", key, what,
                            fmt::join(wanted, ": ..., ")));
    return false;
  }
  for (const std::string& name : given) {
    if (std::ranges::count(wanted, name) > 0) continue;
    const config::Place at = place_of_(below + "." + name);
    errors_.add(at.given() ? at : place, below + "." + config::shortened(name), unknown_name(name, what, wanted));
  }
  for (const std::string& name : wanted) {
    if (std::ranges::count(given, name) > 0 || errors_.count() > before) continue;
    const config::Place at = place_of_(below);
    errors_.add(at.given() ? at : place, below,
                fmt::format("the model's {0} '{1}' is missing; add {1}: to {2}", what, name, key));
  }
  return errors_.count() == before;
}

void NameCheck::require_output(const std::string& name, const config::Place& place, const std::string& path) {
  if (std::ranges::count(outputs_.wanted, name) > 0) return;
  errors_.add(place, path, unknown_name(name, outputs_.what, outputs_.wanted));
}

}  // namespace mirrortrain::data
