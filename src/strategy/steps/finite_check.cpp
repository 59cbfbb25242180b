#include "strategy/steps/finite_check.h"

#include <cmath>

namespace mirrortrain {

bool FiniteCheck::is_finite_in_domain() const {
  Stream& stream = context_.stream();
  for (const auto& [lane, replica] : context_.domain_replicas) {
    double loss = 0;
    stream.copy(reinterpret_cast<std::byte*>(&loss),
                reinterpret_cast<const std::byte*>(lane->buffers().sums(replica->in_lane)), sizeof loss);
    stream.synchronize();
    if (!std::isfinite(loss)) return false;
  }
  return context_.domain.update.gradients_are_finite(stream);
}

void FiniteCheck::run() {
  Stream& stream = context_.stream();
  DomainLane& own = context_.own;
  own.meet();          // every gradient is accumulated
  double domains = 0;  // with a number that is not finite
  auto* const number = reinterpret_cast<std::byte*>(&domains);
  auto* const of_domain = reinterpret_cast<std::byte*>(context_.domain_replicas.front().lane->norms());
  if (own.is_first()) {
    domains = is_finite_in_domain() ? 0 : 1;
    stream.copy(of_domain, number, sizeof domains);
    if (context_.exchanges()) {
      context_.reduction.link->sum_number(stream, reinterpret_cast<double*>(of_domain), "numbers that are not finite");
      context_.meet_while_settling();
    }
  }
  own.meet();
  stream.copy(number, of_domain, sizeof domains);
  context_.reduction.synchronize(stream);
  skips_ = domains > 0 || context_.step.spec.skips;
  own.meet();
}

}  // namespace mirrortrain
