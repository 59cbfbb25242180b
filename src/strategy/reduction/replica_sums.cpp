#include "strategy/reduction/replica_sums.h"

#include <fmt/format.h>

namespace mirrortrain {

ReplicaSums::ReplicaSums(Device& device, const StepKernels& kernels, const Graph& graph, int replicas,
                         const DomainLink* link)
    : kernels_(kernels),
      link_(link),
      replicas_(replicas),
      ranks_(link == nullptr ? 1 : link->communicator().size()),
      rank_(link == nullptr ? 0 : link->communicator().rank()) {
  for (const auto& [own, total] : ops::collectives_of(graph)) {
    const std::int64_t count = graph.spec(own).shape.elements();
    const auto numbers = static_cast<std::size_t>(whole_shards(count) * replicas_ * ranks_);
    const std::string& layer = graph.node(graph.value(total).producer).layer;
    sums_.push_back({count, whole_shards(count), device.allocate(numbers * sizeof(double)),
                     fmt::format("sums of {} over the replicas", layer)});
  }
}

double* ReplicaSums::own(std::size_t sum, int replica) const {
  return sums_[sum].table.as<double>() + (rank_ * replicas_ + replica) * sums_[sum].stride;
}

void ReplicaSums::add(std::size_t sum, DomainLane& lane, GradientReducer* reducer, double* total) const {
  const Sum& of = sums_[sum];
  lane.meet();  // every replica of the domain has left its part
  if (link_ != nullptr) {
    if (lane.is_first()) {
      if (reducer != nullptr) reducer->finish(lane);  // ranks enqueue on streams that wait for each other
      link_->communicator().all_gather(*lane.stream,
                                       {std::span(of.table.as<double>(), of.table.bytes() / sizeof(double)), of.name});
    }
    lane.meet();
  }
  kernels_.sum_rows(*lane.stream, of.table.as<double>(), ranks_ * replicas_, of.stride, of.count, total);
}

std::size_t ReplicaSums::bytes() const {
  std::size_t total = 0;
  for (const Sum& sum : sums_) total += sum.table.bytes();
  return total;
}

}  // namespace mirrortrain
