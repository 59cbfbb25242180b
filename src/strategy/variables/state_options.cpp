#include "strategy/variables/state_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace mirrortrain {
namespace {

/// Why a number does not fit the type; empty if it does.
std::string number_error(StateType type, const StateNumber& number) {
  if (type == StateType::kFloat32) {
    const double value = std::visit([](auto held) { return static_cast<double>(held); }, number);
    return std::abs(value) <= std::numeric_limits<float>::max() ? "" : fmt::format("{} does not fit float32", value);
  }
  const auto* integer = std::get_if<std::int64_t>(&number);
  if (integer == nullptr) {
    return fmt::format("expected an integer for this type, found the number {:#}", std::get<double>(number));
  }
  using Int32 = std::numeric_limits<std::int32_t>;
  const bool fits = type == StateType::kInt64 || (*integer >= Int32::min() && *integer <= Int32::max());
  return fits ? "" : fmt::format("{} does not fit int32", *integer);
}

std::vector<StateNumber> numbers_of(const StateValue& value) {
  if (const auto* list = std::get_if<std::vector<StateNumber>>(&value)) return *list;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return {*integer};
  return {std::get<double>(value)};
}

std::string value_error(StateType type, const std::optional<config::Located<StateValue>>& value) {
  if (!value) return "";
  for (const StateNumber& number : numbers_of(value->value)) {
    const std::string error = number_error(type, number);
    if (!error.empty()) return error;
  }
  return "";
}

void check_length(const std::optional<config::Located<StateValue>>& value, int replicas, config::Errors& errors) {
  const auto* list = value ? std::get_if<std::vector<StateNumber>>(&value->value) : nullptr;
  if (list == nullptr || list->size() == static_cast<std::size_t>(replicas)) return;
  errors.add(value->place, value->path,
             fmt::format("expected one number, or a list with one for each of the {} replica{}, found {}", replicas,
                         replicas == 1 ? "" : "s", list->size()));
}

}  // namespace

DType dtype_of(StateType type) {
  switch (type) {
    case StateType::kInt32: return DType::kInt32;
    case StateType::kInt64: return DType::kInt64;
    case StateType::kFloat32: return DType::kFloat32;
  }
  return DType::kFloat32;
}

config::Section<StateOptions> StateOptions::section() {
  return config::Section<StateOptions>(
             "A user-defined scalar variable, written by every replica in every training step.")
      .key("name", &StateOptions::name, "Name of the variable in events and checkpoints.", config::required,
           config::non_empty)
      .key("dtype", &StateOptions::dtype,
           "Type of the variable; null: int32 if the initial value is an integer, otherwise float32.")
      .key("initial_value", &StateOptions::initial_value, "Initial value of every copy.")
      .key("synchronization", &StateOptions::synchronization, "When the copies are synchronized.")
      .key("aggregation", &StateOptions::aggregation, "How the replicas' values are aggregated.")
      .key("assign", &StateOptions::assign,
           "Value assigned in each step: a number, or a list with one for each replica; null: none.")
      .key("assign_add", &StateOptions::assign_add,
           "Value added in each step: a number, or a list with one for each replica; null: none.")
      .check("name",
             [](const StateOptions& options) -> std::string {
               const bool one_line = std::none_of(options.name.begin(), options.name.end(),
                                                  [](unsigned char c) { return c < 0x20 || c == 0x7f; });
               return one_line ? "" : "expected a name on one line, without control characters";
             })
      .check("initial_value",
             [](const StateOptions& options) { return number_error(options.type(), options.initial_value); })
      .check("aggregation",
             [](const StateOptions& options) {
               const std::string error = policy_error(options.policy(), dtype_of(options.type()), false);
               return error.empty() ? "" : options.name + ": " + error;
             })
      .check("assign", [](const StateOptions& options) { return value_error(options.type(), options.assign); })
      .check("assign_add", [](const StateOptions& options) -> std::string {
        if (options.assign && options.assign_add) return "assign and assign_add exclude each other; leave one out";
        return value_error(options.type(), options.assign_add);
      });
}

StateType StateOptions::type() const {
  return dtype.value_or(std::holds_alternative<std::int64_t>(initial_value) ? StateType::kInt32 : StateType::kFloat32);
}

StateNumber StateOptions::value_for(int replica) const {
  const std::vector<StateNumber> numbers = numbers_of((assign ? *assign : *assign_add).value);
  return numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(replica)];
}

void check_state(const State& state, int replicas, config::Errors& errors) {
  std::set<std::string> names;
  for (const auto& item : state) {
    if (errors.concern(item.path)) continue;
    const std::string& name = item.value.name;
    if (!name.empty() && !names.insert(name).second) {
      errors.add(item.place, item.path, fmt::format("'{}' is listed twice", name));
    }
    for (const auto* value : {&item.value.assign, &item.value.assign_add}) check_length(*value, replicas, errors);
  }
}

}  // namespace mirrortrain
