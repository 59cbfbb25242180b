#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "strategy/reduction/domain_link.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// What the layers of all the run's replicas assign to variables that the replicas share, as one in every memory
/// domain: added in the replicas' order, so that the bits are those of one machine, however the replicas are spread.
class AssignedValues {
 public:
  /// `replicas`: the most that a domain has; `elements`: of the largest variable that is assigned. `link`: null where
  /// there is one domain. All must outlive it.
  AssignedValues(Device& device, const StepKernels& kernels, int replicas, std::int64_t elements,
                 const DomainLink* link);

  /// `value` becomes the sum, the mean over `all_replicas` of the run, or the first replica's. `own`: what those of the
  /// domain assign, in their order; `value` may be among them. `what` it is, for errors, outlives this. Called by the
  /// domain's first lane.
  void write(Stream& stream, Aggregation aggregation, int all_replicas, std::span<const float* const> own,
             std::span<float> value, std::string_view what);

  std::size_t bytes() const { return table_.bytes(); }

 private:
  void gather(Stream& stream, std::span<const float* const> own, std::size_t count, std::string_view what);

  const StepKernels& kernels_;
  const DomainLink* const link_;
  const std::size_t replicas_;
  Buffer table_;  ///< a row for each replica, domain by domain, 0 where a domain has fewer; none for one
  std::vector<scalar::GradientSource> sources_;  ///< of the sum that is made
};

}  // namespace mirrortrain
