#include "strategy/reduction/assigned_values.h"

#include <algorithm>

namespace mirrortrain {

AssignedValues::AssignedValues(Device& device, const StepKernels& kernels, int replicas, std::int64_t elements,
                               const DomainLink* link)
    : kernels_(kernels), link_(link), replicas_(static_cast<std::size_t>(replicas)) {
  const std::size_t ranks = link == nullptr ? 1 : static_cast<std::size_t>(link->communicator().size());
  sources_.reserve(replicas_ * ranks);
  if (link == nullptr) return;
  table_ = device.allocate(replicas_ * ranks * static_cast<std::size_t>(whole_shards(elements)) * sizeof(float));
}

void AssignedValues::write(Stream& stream, Aggregation aggregation, int all_replicas, std::span<const float* const> own,
                           std::span<float> value, std::string_view what) {
  sources_.clear();
  const float share = aggregation == Aggregation::kMean ? 1.0f / static_cast<float>(all_replicas) : 1.0f;
  if (link_ != nullptr) {
    gather(stream, own, value.size(), what);
  } else {
    for (const float* const assigned : own) sources_.push_back({assigned, 1});
  }
  if (aggregation == Aggregation::kOnlyFirstReplica) sources_.resize(1);
  for (scalar::GradientSource& source : sources_) source.scale = share;
  // As many at once as the kernel takes: what it has made so far is the first of the next ones.
  std::span<scalar::GradientSource> rest(sources_);
  while (true) {
    const auto now = rest.first(std::min(rest.size(), static_cast<std::size_t>(kernels_.most_sources())));
    kernels_.sum_sources(stream, now, value.data(), 0, std::ssize(value));
    if (now.size() == rest.size()) return;
    rest = rest.subspan(now.size() - 1);
    rest.front() = {value.data(), 1};
  }
}

/// Fills `sources_` with the rows of all the run's replicas.
void AssignedValues::gather(Stream& stream, std::span<const float* const> own, std::size_t count,
                            std::string_view what) {
  const auto stride = static_cast<std::size_t>(whole_shards(static_cast<std::int64_t>(count)));
  const std::size_t rows = replicas_ * static_cast<std::size_t>(link_->communicator().size());
  const std::span<float> table(table_.as<float>(), rows * stride);
  const std::size_t first = static_cast<std::size_t>(link_->communicator().rank()) * replicas_;
  for (std::size_t r = 0; r < replicas_; ++r) {
    auto* const row = reinterpret_cast<std::byte*>(&table[(first + r) * stride]);
    if (r < own.size()) {
      stream.copy(row, reinterpret_cast<const std::byte*>(own[r]), count * sizeof(float));
    } else {
      stream.zero(row, count * sizeof(float));
    }
  }
  link_->communicator().all_gather(stream, {table, what});
  for (std::size_t r = 0; r < rows; ++r) sources_.push_back({&table[r * stride], 1});
}

}  // namespace mirrortrain
