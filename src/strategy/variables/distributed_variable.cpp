#include "strategy/variables/distributed_variable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// Calls body(T{}) with the C++ type of `dtype`.
template <class Body>
void with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kFloat32: return body(float{});
    case DType::kInt32: return body(std::int32_t{});
    case DType::kInt64: return body(std::int64_t{});
    default: throw Error(fmt::format("a variable of type {} cannot be distributed", name_of(dtype)));
  }
}

template <class T>
const T* as(const std::byte* data) {
  return reinterpret_cast<const T*>(data);
}
template <class T>
T* as(std::byte* data) {
  return reinterpret_cast<T*>(data);
}

/// Integers wrap around, as in other training frameworks.
template <class T>
T written(WriteKind kind, T old, T value) {
  if (kind == WriteKind::kAssign) return value;
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(old) + static_cast<Unsigned>(value));
  } else {
    return old + value;
  }
}

/// Element i aggregated over all replicas. Floats are added in double, so that the result is rounded once.
template <class T>
T combined(Aggregation aggregation, std::span<const std::byte* const> values, std::size_t i) {
  if (aggregation == Aggregation::kOnlyFirstReplica || aggregation == Aggregation::kNone) return as<T>(values[0])[i];
  if constexpr (std::is_integral_v<T>) {
    std::uint64_t sum = 0;
    for (const std::byte* value : values) sum += static_cast<std::uint64_t>(as<T>(value)[i]);
    return static_cast<T>(sum);
  } else {
    double sum = 0;
    for (const std::byte* value : values) sum += as<T>(value)[i];
    return static_cast<T>(aggregation == Aggregation::kMean ? sum / static_cast<double>(values.size()) : sum);
  }
}

}  // namespace

DistributedVariable::DistributedVariable(std::string name, DType dtype, Shape shape, VariablePolicy policy,
                                         std::vector<std::byte*> copies)
    : name_(std::move(name)), dtype_(dtype), shape_(std::move(shape)), policy_(policy), copies_(std::move(copies)) {
  const std::string error = policy_error(policy_, dtype_, false);
  if (!error.empty()) throw Error(name_ + ": " + error);
}

std::vector<std::span<std::byte>> DistributedVariable::storage() const {
  std::vector<std::span<std::byte>> places;
  for (std::byte* const data : copies_) {
    const bool is_known = std::ranges::any_of(places, [data](const auto& place) { return place.data() == data; });
    if (!is_known) places.emplace_back(data, bytes());
  }
  return places;
}

void DistributedVariable::write_in_replicas(WriteKind kind, std::span<const std::byte* const> values) const {
  const bool own = policy_.copies_can_differ();
  const auto elements = static_cast<std::size_t>(shape_.elements());
  with_type(dtype_, [&]<class T>(T) {
    for (std::size_t i = 0; i < elements; ++i) {
      // The value is computed before any copy changes: a replica may write from its own copy.
      const T value = own ? T{} : written(kind, as<T>(copies_[0])[i], combined<T>(policy_.aggregation, values, i));
      for (std::size_t r = 0; r < copies_.size(); ++r) {
        T& element = as<T>(copies_[r])[i];
        element = own ? written(kind, element, as<T>(values[r])[i]) : value;
      }
    }
  });
}

/// The result of reading copies with this policy outside the replicas, or the first copy if that has no meaning.
void DistributedVariable::combine(const VariablePolicy& policy, std::span<const std::byte* const> values,
                                  std::byte* result) const {
  if (policy.synchronization != Synchronization::kOnRead || values.size() == 1) {
    std::memcpy(result, values[0], bytes());
    return;
  }
  const Aggregation aggregation = policy.aggregation;
  with_type(dtype_, [&]<class T>(T) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape_.elements()); ++i) {
      as<T>(result)[i] = combined<T>(aggregation, values, i);
    }
  });
}

void DistributedVariable::read(std::byte* value) const {
  if (!policy_.readable_outside()) {
    throw Error(
        fmt::format("{}: reading {} copies outside the replicas has no meaning: there is no way to combine them", name_,
                    policy_.text()));
  }
  read_or_first(value);
}

void DistributedVariable::read_or_first(std::byte* value) const {
  combine(policy_, std::span<const std::byte* const>(copies_.data(), copies_.size()), value);
}

std::span<const std::byte> DistributedVariable::read_or_first(std::vector<std::byte>& memory) const {
  if (!policy_.copies_can_differ()) return {copies_.front(), bytes()};
  memory.resize(bytes());
  read_or_first(memory.data());
  return memory;
}

void DistributedVariable::set(const std::byte* value) const {
  const bool total = policy_.synchronization == Synchronization::kOnRead && policy_.aggregation == Aggregation::kSum;
  for (std::size_t r = 0; r < copies_.size(); ++r) {
    if (total && r > 0) {
      std::memset(copies_[r], 0, bytes());  // replica 0 has the whole total, so that no part of an integer is lost
    } else {
      std::memcpy(copies_[r], value, bytes());
    }
  }
}

void DistributedVariable::restore(std::span<const std::byte* const> saved, const VariablePolicy& saved_policy) const {
  if (policy_.copies_can_differ() && policy_ == saved_policy && saved.size() == copies_.size()) {
    for (std::size_t r = 0; r < copies_.size(); ++r) std::memcpy(copies_[r], saved[r], bytes());
    return;
  }
  std::vector<std::byte> value(bytes());
  combine(saved_policy, saved, value.data());
  set(value.data());
}

}  // namespace mirrortrain
