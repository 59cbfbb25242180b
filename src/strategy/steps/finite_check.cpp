// Checks whether a training step's losses and gradients are finite in every memory domain of the run.
#include <algorithm>
#include <cmath>
#include <vector>

#include "strategy/steps/lane_steps.h"

namespace mirrortrain {

bool LaneSteps::is_finite_in_domain() const {
  // What is enqueued may wait for a rank that has failed, which only its communicator notices.
  const auto wait = [this] { reduction_.synchronize(stream()); };
  for (const auto& [lane, replica] : domain_replicas_) {
    std::vector<double> losses(model().loss_sums());  // of all outputs
    stream().copy(reinterpret_cast<std::byte*>(losses.data()),
                  reinterpret_cast<const std::byte*>(lane->buffers().sums(replica->in_lane)),
                  losses.size() * sizeof(double));
    wait();
    if (!std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); })) return false;
  }
  return domain_.update.gradients_are_finite(stream(), wait);
}

void LaneSteps::find_non_finite(const Step& step) {
  own_.arrive_and_wait();  // every gradient is accumulated
  double domains = 0;      // with a number that is not finite
  auto* const number = reinterpret_cast<std::byte*>(&domains);
  auto* const of_domain = reinterpret_cast<std::byte*>(domain_replicas_.front().lane->norms());
  if (own_.is_first()) {
    domains = is_finite_in_domain() ? 0 : 1;
    stream().copy(of_domain, number, sizeof domains);
    if (exchanges()) {
      reduction_.for_each_link([&](const DomainLink& to) {
        to.sum_number(stream(), reinterpret_cast<double*>(of_domain), "numbers that are not finite");
      });
      wait_while_warming_up(step);
    }
  }
  own_.arrive_and_wait();
  stream().copy(number, of_domain, sizeof domains);
  reduction_.synchronize(stream());
  skips_ = domains > 0 || step.spec.skips;
  own_.arrive_and_wait();
}

}  // namespace mirrortrain
