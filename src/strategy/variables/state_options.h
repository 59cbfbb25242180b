#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "config/section.h"
#include "strategy/strategy_options.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

using StateNumber = std::variant<std::int64_t, double>;
/// One number for every replica, or one for each.
using StateValue = std::variant<std::int64_t, double, std::vector<StateNumber>>;

/// The types that a `state` variable may have.
enum class StateType : std::uint8_t { kInt32, kInt64, kFloat32 };
DType dtype_of(StateType type);

/// An item of the section `state`: a user-defined scalar, written in every training step by every replica.
struct StateOptions {
  std::string name;
  std::optional<StateType> dtype;
  StateNumber initial_value = std::int64_t{0};
  Synchronization synchronization = Synchronization::kAuto;
  Aggregation aggregation = Aggregation::kNone;
  std::optional<config::Located<StateValue>> assign, assign_add;
  static config::Section<StateOptions> section();

  /// As given, or else inferred from the initial value, as by tf.Variable: int32 for an integer, float32 for another
  /// number.
  StateType type() const;
  VariablePolicy policy() const { return {synchronization, aggregation}; }
  /// The value that `replica` writes; assign or assign_add is given.
  StateNumber value_for(int replica) const;
};

using State = std::vector<config::Located<StateOptions>>;

/// Adds errors of the items together: names used twice, and lists whose length is not the number of replicas.
void check_state(const State& state, int replicas, config::Errors& errors);

}  // namespace mirrortrain

namespace mirrortrain::config {

template <>
struct EnumNames<StateType> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, StateType>>(
      {{"int32", StateType::kInt32}, {"int64", StateType::kInt64}, {"float32", StateType::kFloat32}});
  static constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>({{"float32", "fp32"}});
};

template <>
struct ChoiceTag<StateNumber> {
  static constexpr std::string_view noun = "a number";
};

template <>
struct ChoiceTag<StateValue> {
  static constexpr std::string_view noun = "a number or a list with one for each replica";
};

}  // namespace mirrortrain::config
