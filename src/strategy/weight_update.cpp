#include "strategy/weight_update.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "strategy/gradient_scales.h"

namespace mirrortrain {
namespace {

cpu::UpdateRule kernel_rule(const UpdateRule& rule) {
  switch (rule.kind) {
    case UpdateRule::Kind::kSgd: return scalar::Sgd{};
    case UpdateRule::Kind::kSgdMomentum: return scalar::SgdMomentum<false>{rule.momentum};
    case UpdateRule::Kind::kSgdNesterov: return scalar::SgdMomentum<true>{rule.momentum};
    case UpdateRule::Kind::kAdam: return scalar::Adam<false>{rule.beta_1, rule.beta_2, rule.epsilon};
    case UpdateRule::Kind::kAdamW: return scalar::Adam<true>{rule.beta_1, rule.beta_2, rule.epsilon, rule.weight_decay};
  }
  throw Error("unknown update rule");
}

/// The lane's even part [begin, end) of `count`, in whole pieces.
std::pair<std::int64_t, std::int64_t> part_of_lane(std::int64_t count, std::int64_t piece, int lane, int lanes) {
  const std::int64_t pieces = (count + piece - 1) / piece;
  const auto edge = [&](int i) { return std::min(count, pieces * i / lanes * piece); };
  return {edge(lane), edge(lane + 1)};
}

/// Rows of a product that are made together.
constexpr std::int64_t kProductRows = 8;

}  // namespace

WeightUpdate::WeightUpdate(const VariableStore& variables, const UpdateRule& rule, const GradientOptions& options,
                           bool reduced)
    : rule_(kernel_rule(rule)), options_(options), reduced_(reduced), replicas_(variables.replicas()) {
  for (const VariableGroup& group : variables.groups()) {
    Part& part = parts_.emplace_back();
    part.group = &group;
    const int sources = reduced_ && group.shared() ? 1 : replicas_;
    for (int r = 0; r < sources; ++r) part.sources.push_back({group.gradient(r), 1});
  }
}

void WeightUpdate::add_product(int group, const cpu::ProductWeight& weight, std::vector<cpu::ProductSource> operands,
                               std::int64_t rows_per_example) {
  const VariableGroup* const of_group = parts_[static_cast<std::size_t>(group)].group;
  products_.push_back({of_group, weight, std::move(operands), rows_per_example});
}

void WeightUpdate::begin(const UpdateStep& step) {
  step_ = step;
  for (Product& product : products_) {
    for (int r = 0; r < replicas_; ++r) {
      product.sources[static_cast<std::size_t>(r)].rows =
          rows_of_replica(step.examples, r, replicas_).count * product.rows_per_example;
    }
  }
  for (Part& part : parts_) {
    const Aggregation aggregation = part.group->aggregation();
    part.regularization = regularization_times(aggregation, step.examples, replicas_);
    if (reduced_ && part.group->shared()) continue;  // scaled before they were added
    for (int r = 0; r < replicas_; ++r) {
      part.sources[static_cast<std::size_t>(r)].scale = gradient_scale(aggregation, r, step.examples, replicas_);
    }
  }
}

/// Calls work(part, view, gradient, begin, end) for what the lane has to do.
template <class Work>
void WeightUpdate::for_each_range(const LaneShare& share, const Work& work) const {
  for (const Part& part : parts_) {
    const std::int64_t elements = part.group->gradient_elements();
    if (part.group->shared()) {
      const auto [begin, end] = part_of_lane(elements, cpu::kUpdateChunk, share.lane, share.lanes);
      work(part, 0, cpu::GradientSum{part.sources, part.regularization}, begin, end);
      continue;
    }
    for (const int replica : share.replicas) {
      const auto source = std::span(part.sources).subspan(static_cast<std::size_t>(replica), 1);
      // A replica without examples adds a zero gradient, regularization included.
      work(part, replica, cpu::GradientSum{source, source[0].scale != 0 ? 1.0f : 0.0f}, std::int64_t{0}, elements);
    }
  }
}

void WeightUpdate::accumulate(const LaneShare& share) const {
  for_each_range(share, [&](const Part& part, int replica, const cpu::GradientSum& gradient, std::int64_t begin,
                            std::int64_t end) {
    cpu::accumulate(part.group->view(replica), gradient, step_.gradients == 1, begin, end);
  });
}

void WeightUpdate::apply(const LaneShare& share) const {
  if (!step_.applies) return;
  cpu::UpdateScalars scalars{static_cast<float>(step_.learning_rate), step_.updates};
  if (options_.clip_value) scalars.clip_value = static_cast<float>(*options_.clip_value);
  // What a replica has for itself is clipped by the norm of all that it applies; what the replicas share, by that norm
  // in the mean over the replicas, so that all go on sharing it.
  double shared_squares = 0, own_squares_mean = 0;
  for (const Part& part : parts_) {
    for (int r = 0; needs_norm() && r < part.group->copies(); ++r) {
      (part.group->shared() ? shared_squares : own_squares_mean) += part.group->squares(r) / part.group->copies();
    }
  }

  for_each_range(share, [&](const Part& part, int replica, const cpu::GradientSum& gradient, std::int64_t begin,
                            std::int64_t end) {
    const cpu::UpdateGroupView& view = part.group->view(replica);
    if (!accumulates()) return cpu::update(rule_, view, gradient, scalars, begin, end);
    const double own_squares = part.group->shared() || !needs_norm() ? own_squares_mean : part.group->squares(replica);
    scalars.scale = clip_factor(shared_squares + own_squares) / static_cast<float>(step_.gradients);
    cpu::update_accumulated(rule_, view, scalars, begin, end);
  });
  for (const Product& product : products_) {
    const auto [begin, end] = part_of_lane(product.weight.in, kProductRows, share.lane, share.lanes);
    cpu::update_with_product(rule_, product.group->view(0), product.weight, product.sources, scalars, share.threads,
                             begin, end);
  }
}

/// What brings the global norm of the mean gradient down to clip_norm, given the squares of the accumulated ones.
float WeightUpdate::clip_factor(double squares) const {
  if (!options_.clip_norm) return 1;
  const double norm = std::sqrt(squares) / static_cast<double>(step_.gradients);
  return norm > *options_.clip_norm ? static_cast<float>(*options_.clip_norm / norm) : 1;
}

}  // namespace mirrortrain
