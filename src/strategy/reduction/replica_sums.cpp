#include "strategy/reduction/replica_sums.h"

#include <fmt/format.h>

#include "base/error.h"

namespace mirrortrain {

ReplicaSums::ReplicaSums(Device& device, const StepKernels& kernels, const Graph& graph, int replicas,
                         Communicator* others)
    : kernels_(kernels), is_alone_(others == nullptr) {
  for (const auto& [own, total] : ops::collectives_of(graph)) {
    const ValueSpec& spec = graph.spec(own);
    const std::string& layer = graph.node(graph.value(total).producer).layer;
    if (spec.dtype != DType::kFloat64) throw Error(fmt::format("{}: replicas add up double precision alone", layer));
    sums_.emplace_back(device, others, replicas, spec.shape.elements(),
                       fmt::format("sums of {} over the replicas", layer));
  }
}

void ReplicaSums::add(std::size_t sum, DomainLane& lane, GradientReducer* reducer, double* total) const {
  const GatheredRows<double>& of = sums_[sum];
  lane.meet();  // every replica of the domain has written its part
  if (!is_alone_) {
    if (lane.is_first()) {
      if (reducer != nullptr) reducer->finish(lane);  // ranks enqueue on streams that wait for each other
      of.gather(*lane.stream);
    }
    lane.meet();
  }
  kernels_.sum_rows(*lane.stream, of.row(0), of.rows(), of.stride(), of.count(), total);
}

std::size_t ReplicaSums::bytes() const {
  std::size_t total = 0;
  for (const GatheredRows<double>& sum : sums_) total += sum.bytes();
  return total;
}

}  // namespace mirrortrain
