#include "strategy/variables/variable_policy.h"

#include <fmt/format.h>

namespace mirrortrain {
namespace {

bool is_integer(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

std::string legal_policies(DType dtype, bool trainable) {
  return fmt::format("legal are auto{} on_write{} with none, sum{} or only_first_replica, and none with none",
                     trainable ? " and" : ",", trainable ? "" : " and on_read", is_integer(dtype) ? "" : ", mean");
}

}  // namespace

std::string_view name_of(Synchronization synchronization) { return config::name_of(synchronization); }
std::string_view name_of(Aggregation aggregation) { return config::name_of(aggregation); }

std::string VariablePolicy::text() const {
  return fmt::format("{} x {}", name_of(synchronization), name_of(aggregation));
}

std::string policy_error(const VariablePolicy& written, DType dtype, bool trainable) {
  const auto error = [&](std::string_view reason) {
    return fmt::format("{}: {}; {}", written.text(), reason, legal_policies(dtype, trainable));
  };
  if (written.synchronization == Synchronization::kNone && written.aggregation != Aggregation::kNone) {
    return error("copies that are never synchronized are never aggregated");
  }
  if (written.aggregation == Aggregation::kMean && is_integer(dtype)) {
    return error(fmt::format("the mean of {0} values is not an {0}", name_of(dtype)));
  }
  if (written.synchronization == Synchronization::kOnRead && trainable) {
    return error("a trainable variable is written by the optimizer, so its copies cannot wait to be read");
  }
  return "";
}

VariablePolicy resolved(const VariablePolicy& written, bool one_plain_copy) {
  if (one_plain_copy || written.synchronization == Synchronization::kAuto) {
    return {Synchronization::kOnWrite, written.aggregation};
  }
  return written;
}

}  // namespace mirrortrain
