#include "strategy/variables/state_variables.h"

#include <cstring>

namespace mirrortrain {
namespace {

/// Writes the number in the variable's type, which it fits.
void store(DType dtype, const StateNumber& number, std::byte* to) {
  std::visit(
      [&](auto value) {
        const auto put = [&](auto typed) { std::memcpy(to, &typed, sizeof typed); };
        if (dtype == DType::kInt32) return put(static_cast<std::int32_t>(value));
        if (dtype == DType::kInt64) return put(static_cast<std::int64_t>(value));
        put(static_cast<float>(value));
      },
      number);
}

report::StateReading::Number load(DType dtype, const std::byte* from) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  if (dtype == DType::kInt32) return std::int64_t{as(std::int32_t{})};
  if (dtype == DType::kInt64) return as(std::int64_t{});
  return double{as(float{})};
}

}  // namespace

StateVariables::StateVariables(const State& state, int replicas, bool one_plain_copy, Device& device) {
  const auto count = static_cast<std::size_t>(replicas);
  for (const auto& [options, place, path] : state) {
    const DType dtype = dtype_of(options.type());
    const std::size_t size = size_of(dtype);
    const VariablePolicy policy = resolved(options.policy(), one_plain_copy);
    const bool shared = !policy.copies_can_differ();

    std::byte* const copies = buffers_.emplace_back(device.allocate(size * (shared ? 1 : count))).data();
    std::vector<std::byte*> by_replica;
    for (std::size_t r = 0; r < count; ++r) by_replica.push_back(copies + (shared ? 0 : r * size));
    for (std::byte* copy : by_replica) store(dtype, options.initial_value, copy);
    variables_.emplace_back(options.name, dtype, Shape{}, policy, std::move(by_replica));

    if (!options.assign && !options.assign_add) continue;
    std::byte* const values = buffers_.emplace_back(device.allocate(size * count)).data();
    Write& write =
        writes_.emplace_back(Write{variables_.back(), options.assign ? WriteKind::kAssign : WriteKind::kAssignAdd, {}});
    for (int r = 0; r < replicas; ++r) {
      std::byte* const value = values + static_cast<std::size_t>(r) * size;
      store(dtype, options.value_for(r), value);
      write.values.push_back(value);
    }
  }
}

void StateVariables::write_step() const {
  for (const Write& write : writes_) write.variable.write_in_replicas(write.kind, write.values);
}

std::vector<report::StateReading> StateVariables::readings() const {
  std::vector<report::StateReading> readings;
  for (const DistributedVariable& variable : variables_) {
    report::StateReading& reading = readings.emplace_back();
    reading.name = variable.name();
    if (variable.policy().readable_outside()) {
      alignas(std::int64_t) std::byte value[sizeof(std::int64_t)];
      variable.read(value);
      reading.value = load(variable.dtype(), value);
    }
    for (int r = 0; r < variable.replicas(); ++r) {
      reading.replicas.push_back(load(variable.dtype(), variable.copy(r).data));
    }
  }
  return readings;
}

}  // namespace mirrortrain
