// Checks whether a training step's losses and gradients are finite in every memory domain of the run.
#include <cmath>

#include "strategy/steps/lane_steps.h"

namespace mirrortrain {

/// The number is finite if and only if all losses and gradients of the domain are.
void LaneSteps::sum_losses_and_squares() {
  double* const sum = domain_replicas_.front().lane->norms();
  domain_.update.sum_squares(stream(), sum);
  for (const auto& [lane, replica] : domain_replicas_) {
    domain_.kernels.sum_numbers(stream(), lane->buffers().sums(replica->in_lane),
                                static_cast<std::int64_t>(model().loss_sums()), 1, false, sum);
  }
}

void LaneSteps::find_non_finite(const Step& step) {
  double* const of_domain = domain_replicas_.front().lane->norms();
  if (own_.is_first() && exchanges()) {
    reduction_.for_each_link(
        [&](const DomainLink& to) { to.sum_number(stream(), of_domain, "losses and squares of gradients"); });
    wait_while_warming_up(step);
  }
  own_.arrive_and_wait();
  double sum = 0;
  stream().copy(reinterpret_cast<std::byte*>(&sum), reinterpret_cast<const std::byte*>(of_domain), sizeof sum);
  // What is enqueued may wait for a rank that has failed, which only its communicator notices.
  reduction_.synchronize(stream());
  skips_ = !std::isfinite(sum) || step.spec.skips;
  own_.arrive_and_wait();
}

}  // namespace mirrortrain
