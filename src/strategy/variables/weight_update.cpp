#include "strategy/variables/weight_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "device/cpu/parallel_loops.h"
#include "strategy/variables/gradient_scales.h"

namespace mirrortrain {
namespace {

/// Rows of a matrix multiplication computed together.
constexpr std::int64_t kProductRows = 8;

/// Rows of a table that a lane updates together.
constexpr std::int64_t kTableRows = 64;

/// The places of squared norms in a lane's `norms`: of what replicas share, of what is in other memories along the axis
/// `data` alone, of what is in others along `model`, of the lane's first replica.
enum NormPlace : std::size_t { kOfShared, kOfShards, kOfParts, kOfReplicas };
static_assert(kOfReplicas == kSharedNorms);

/// A total on the device of numbers from several places there.
class Total {
 public:
  /// `begun`: the current value is the first summand.
  Total(const StepKernels& kernels, Stream& stream, double* total, bool begun = false)
      : kernels_(kernels), stream_(stream), total_(total), begun_(begun) {}

  void add(const double* numbers, std::int64_t count, double scale = 1) {
    kernels_.sum_numbers(stream_, numbers, count, scale, !std::exchange(begun_, true), total_);
  }

 private:
  const StepKernels& kernels_;
  Stream& stream_;
  double* total_;
  bool begun_;
};

}  // namespace

WeightUpdate::WeightUpdate(const VariableStore& variables, const StepKernels& kernels, std::vector<int> replicas,
                           const Mesh& mesh, const UpdateOptions& options)
    : kernels_(kernels),
      replicas_(std::move(replicas)),
      mesh_(mesh),
      options_(options.gradients),
      reduced_(options.reduced),
      keeps_gradients_(options.keeps_gradients),
      has_all_parts_(mesh.parts_in(variables.replicas()) == mesh.model),
      in_stages_(options.in_stages) {
  if (variables.replicas() > kernels_.most_sources()) {
    throw UsageError(
        fmt::format("strategy: at most {} replicas can be on one GPU, found {}; use more devices or fewer "
                    "replicas",
                    kernels_.most_sources(), variables.replicas()));
  }
  const auto add = [this](const VariableGroup& group, std::vector<int> summed) {
    if ((reduced_ && group.shared()) || group.has_sparse_gradients()) summed.resize(1);
    for (std::size_t piece = 0; piece < group.pieces(summed.front()).size(); ++piece) {
      Part& part = parts_.emplace_back(Part{&group, piece, summed.front(), summed, {}});
      const std::int64_t first = part.of(part.replica).first;
      for (const int r : part.replicas) part.sources.push_back({group.gradient(r) + first, 1});
    }
  };
  std::vector<int> all(static_cast<std::size_t>(variables.replicas()));
  std::iota(all.begin(), all.end(), 0);
  for (const VariableGroup& group : variables.groups()) {
    if (!group.shared()) add(group, all);
    for (int copy = 0; group.shared() && copy < group.copies(); ++copy) add(group, group.summed_replicas(copy));
  }
  if (!needs_norm()) return;
  const bool all_shared = std::ranges::all_of(parts_, [](const Part& part) { return part.group->shared(); });
  if (!all_shared) own_squares_.push_back({kOfShared, true, true});
  const auto any_at = [this](std::size_t place) {
    return std::ranges::any_of(parts_, [&](const Part& part) { return place_of_squares(*part.group) == place; });
  };
  if (any_at(kOfShards)) own_squares_.push_back({kOfShards, true, false});
  if (any_at(kOfParts)) own_squares_.push_back({kOfParts, divides_over_data(), true});
}

std::optional<std::size_t> WeightUpdate::place_of_squares(const VariableGroup& group) const {
  if (!group.shared()) return std::nullopt;
  if (in_stages_ || (group.division().model && !has_all_parts_)) return kOfParts;
  return group.has_parts_over_data() ? std::optional<std::size_t>(kOfShards) : std::nullopt;
}

void WeightUpdate::add_product(const VariableGroup& group, std::vector<int> replicas, const ProductWeight& weight,
                               std::vector<ProductSource> operands, std::int64_t rows_per_example) {
  products_.push_back({&group, std::move(replicas), weight, std::move(operands), rows_per_example});
}

void WeightUpdate::begin(const StepSpec& step, StepParams& params) {
  step_ = step;
  for (Product& product : products_) {
    for (std::size_t i = 0; i < product.replicas.size(); ++i) {
      const int replica = replicas_[static_cast<std::size_t>(product.replicas[i])];
      product.sources[i].rows = rows_of_place(step.global_examples(), replica, mesh_).count * product.rows_per_example;
    }
  }
  for (Part& part : parts_) {
    const Aggregation aggregation = part.group->aggregation();
    part.regularization = regularization_times(aggregation, step.global_examples(), mesh_);
    // Scaled before they were summed.
    if ((reduced_ && part.group->shared()) || part.group->has_sparse_gradients()) continue;
    for (std::size_t i = 0; i < part.replicas.size(); ++i) {
      const int replica = replicas_[static_cast<std::size_t>(part.replicas[i])];
      part.sources[i].scale = gradient_scale(aggregation, replica, step.global_examples(), mesh_);
    }
  }
  std::ranges::copy(step.learning_rates, params.learning_rates);
  params.updates = step.updates;
  params.update = static_cast<float>(step.updates);
  if (options_.clip_value) params.clip_value = *options_.clip_value;
  if (keeps_gradients()) params.scale = 1 / static_cast<float>(step.gradients);
}

/// Calls work(part, replica, index of the params, gradient, begin, end) for the lane's work, on all its threads.
template <class Work>
void WeightUpdate::for_each_range(const DomainLane& lane, const Work& work) const {
  for (const Part& part : parts_) {
    const GroupPiece& piece = part.of(part.replica);
    const std::int64_t elements = std::min(piece.elements, part.group->gradient_elements() - piece.first);
    if (elements <= 0) continue;  // this memory owns none of the group's variables
    if (part.group->shared()) {
      const auto [begin, end] = lane.part_of(elements, scalar::kUpdateChunk);
      const scalar::GradientSum gradient{part.sources, part.regularization};
      parallel_for(lane.threads, end - begin, scalar::kUpdateChunk, [&](std::int64_t from, std::int64_t to) {
        work(part, part.replica, 0, gradient, begin + from, begin + to);
      });
      continue;
    }
    for (std::size_t i = 0; i < lane.replicas.size(); ++i) {
      const int replica = lane.replicas[i];
      const auto source = std::span(part.sources).subspan(static_cast<std::size_t>(replica), 1);
      // A replica without examples adds a zero gradient, regularization included.
      work(part, replica, 1 + i, scalar::GradientSum{source, source[0].scale != 0 ? 1.0f : 0.0f}, std::int64_t{0},
           elements);
    }
  }
}

void WeightUpdate::accumulate(const DomainLane& lane) const {
  for_each_range(lane, [&](const Part& part, int replica, std::size_t, const scalar::GradientSum& gradient,
                           std::int64_t begin, std::int64_t end) {
    store_sparse(lane, part, false, begin, end);
    kernels_.accumulate(*lane.stream, part.of(replica).view, gradient, step_.gradients == 1, begin, end);
    store_sparse(lane, part, true, begin, end);
  });
}

/// The sum of sparse gradients is in a group's memory while it is accumulated, which is 0 otherwise.
void WeightUpdate::store_sparse(const DomainLane& lane, const Part& part, bool zeros, std::int64_t begin,
                                std::int64_t end) const {
  for (const Table& table : tables_) {
    if (table.group != part.group) continue;
    kernels_.store_sparse(*lane.stream, table.weight, table.gradients, zeros, part.group->gradient(part.replica), begin,
                          end);
  }
}

void WeightUpdate::sum_squares(Stream& stream, double* total) const {
  stream.zero(reinterpret_cast<std::byte*>(total), sizeof(double));  // this memory may own no variable
  Total of_all(kernels_, stream, total, true);
  for (const Part& part : parts_) {
    for (const int replica : part.group->shared() ? std::vector{part.replica} : part.replicas) {
      const GroupPiece& piece = part.of(replica);
      of_all.add(piece.view.squares, piece.chunks());
    }
  }
}

bool WeightUpdate::measures() const {
  return std::ranges::any_of(parts_,
                             [](const Part& part) { return scalar::scales_by_norms(part.group->update().rule); });
}

bool WeightUpdate::takes_directions() const {
  return std::ranges::any_of(parts_, [](const Part& part) { return part.group->update().has_direction(); });
}

bool WeightUpdate::is_sharded() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.group->is_sharded(); });
}

bool WeightUpdate::divides_over_data() const {
  return std::ranges::any_of(parts_, [](const Part& part) { return part.group->has_parts_over_data(); });
}

void WeightUpdate::sum_own_squares(const DomainLane& lane) const {
  if (!step_.applies) return;
  Total mean(kernels_, *lane.stream, lane.norms + kOfShared), shards(kernels_, *lane.stream, lane.norms + kOfShards),
      divided(kernels_, *lane.stream, lane.norms + kOfParts);
  for (const Part& part : parts_) {
    if (const auto place = place_of_squares(*part.group)) {
      const GroupPiece& piece = part.of(part.replica);
      (*place == kOfParts ? divided : shards).add(piece.view.squares, piece.chunks());
    }
    if (part.group->shared()) continue;
    for (int r = 0; r < part.group->copies(); ++r) {
      mean.add(part.of(r).view.squares, part.of(r).chunks(), 1.0 / mesh_.places());
    }
  }
}

/// A replica's own variables are clipped by the norm of all that it applies; shared variables by that norm averaged
/// over the replicas, so that they stay shared.
void WeightUpdate::scale_to_norms(const DomainLane& lane) const {
  if (!step_.applies) return;
  const auto scale = [&](std::size_t place, std::size_t which) {
    kernels_.scale_to_norm(*lane.stream, lane.norms + place, *options_.clip_norm, step_.gradients, lane.params + which);
  };
  const auto add_shared = [&](Total& total) {
    for (const OwnSquares& own : own_squares_) {
      if (own.place != kOfShared) total.add(lane.norms + own.place, 1);
    }
    for (const Part& part : parts_) {
      const GroupPiece& piece = part.of(part.replica);
      if (part.group->shared() && !place_of_squares(*part.group)) total.add(piece.view.squares, piece.chunks());
    }
  };
  const bool begun = std::ranges::count(own_squares_, kOfShared, &OwnSquares::place) > 0;
  Total of_shared(kernels_, *lane.stream, lane.norms + kOfShared, begun);
  add_shared(of_shared);
  scale(kOfShared, 0);
  for (std::size_t i = 0; i < lane.replicas.size(); ++i) {
    Total of_replica(kernels_, *lane.stream, lane.norms + kOfReplicas + i);
    add_shared(of_replica);
    for (const Part& part : parts_) {
      if (part.group->shared()) continue;
      const GroupPiece& piece = part.of(lane.replicas[i]);
      of_replica.add(piece.view.squares, piece.chunks());
    }
    scale(kOfReplicas + i, 1 + i);
  }
}

void WeightUpdate::measure(const DomainLane& lane) const {
  if (!step_.applies) return;
  for_each_range(lane, [&](const Part& part, int replica, std::size_t which, const scalar::GradientSum&,
                           std::int64_t begin, std::int64_t end) {
    const scalar::UpdateRule& rule = part.group->update().rule;
    if (!scalar::scales_by_norms(rule)) return;
    kernels_.measure(*lane.stream, rule, part.of(replica).view, lane.params + which, begin, end);
  });
}

void WeightUpdate::apply(const DomainLane& lane) const {
  if (!step_.applies) return;
  for_each_range(lane, [&](const Part& part, int replica, std::size_t which, const scalar::GradientSum& gradient,
                           std::int64_t begin, std::int64_t end) {
    const scalar::UpdateGroupView& view = part.of(replica).view;
    const StepParams* const params = lane.params + which;
    const scalar::UpdateRule& rule = part.group->update().rule;
    if (keeps_gradients()) return kernels_.update_accumulated(*lane.stream, rule, view, params, begin, end);
    kernels_.update(*lane.stream, rule, view, gradient, params, begin, end);
  });
  for (const Product& product : products_) {
    const auto [begin, end] = lane.part_of(product.weight.in, kProductRows);
    kernels_.update_with_product(product.group->update().rule, product.group->view(product.replicas.front()),
                                 product.weight, product.sources, *lane.params, lane.threads, begin, end);
  }
  for (const Table& table : tables_) {
    if (keeps_gradients()) continue;
    const auto [begin, end] = lane.part_of(table.weight.rows, kTableRows);
    kernels_.update_sparse(*lane.stream, table.group->update().rule, table.group->view(0), table.weight,
                           table.gradients, *lane.params, lane.threads, begin, end);
  }
}

bool WeightUpdate::is_regularized() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.group->is_regularized(); });
}

/// Whether this memory's sums are counted. Where each memory adds a part, those of shards are; of what several memories
/// have, those of replica 0 are, at its first memory or, of a divided variable, at all of its row.
bool WeightUpdate::counts_regularization(const VariableGroup& group) const {
  if (!group.is_regularized()) return false;
  if (!sums_parts()) return true;
  const Division& division = group.division();
  const bool has_first_part = mesh_.model_index(replicas_.front()) == 0 || (division.model && !has_all_parts_);
  return has_first_part && (group.has_parts_over_data() || mesh_.data_index(replicas_.front()) == 0);
}

void WeightUpdate::sum_regularization(Stream& stream, double* total) const {
  if (sums_parts()) stream.zero(reinterpret_cast<std::byte*>(total), sizeof(double));  // it may count nothing
  Total of_all(kernels_, stream, total, sums_parts());
  for (const Part& part : parts_) {
    const GroupPiece& piece = part.of(part.replica);
    if (counts_regularization(*part.group)) of_all.add(piece.view.regularization, piece.chunks());
  }
}

}  // namespace mirrortrain
