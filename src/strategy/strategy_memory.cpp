// What a run takes, and what it says where there is not enough.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "report/format.h"
#include "strategy/strategy.h"

namespace mirrortrain {
namespace {

/// What is left to the libraries, which load kernels in the first steps, and to recorded steps.
std::size_t reserve_of(std::size_t free) { return std::min(std::size_t{1} << 30, free / 8); }

}  // namespace

MemoryForecast Strategy::memory() const {
  MemoryForecast forecast;
  forecast.variables = mirrors_->bytes();
  for (const auto& lane : lanes_) {
    forecast.activations += lane->bytes();
    if (lane->examples() != nullptr) forecast.examples += lane->examples()->bytes();
  }
  if (on_host()) return forecast;
  for (int i = 0; i < static_cast<int>(lanes_.size()); ++i) {
    const Lane& lane = *lanes_[static_cast<std::size_t>(i)];
    const std::size_t exchange = device_exchanges_ ? device_exchanges_->of_lane(i).bytes() : 0;
    const std::size_t run = mirror(i).bytes() + lane.bytes() + lane.examples()->bytes() + exchange;
    forecast.gpus.push_back({lane.device().id(), run, lane.device().memory()});
  }
  return forecast;
}

/// Throws Error where a lane's device, or the memory that all lanes share, has no room for the activations of the
/// largest batch.
void Strategy::require_memory(int lane, const BatchSizes& sizes) const {
  const Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  std::size_t wanted = own.step_bytes(), free = own.device().memory().free;
  if (on_host()) {
    if (lane > 0) return;  // asked for all with the first
    for (std::size_t other = 1; other < lanes_.size(); ++other) wanted += lanes_[other]->step_bytes();
  } else {
    free -= reserve_of(free);
  }
  if (wanted <= free) return;
  std::int64_t batch = 0;
  for (const auto* of_kind : {&sizes.train, &sizes.evaluate}) {
    for (const std::int64_t size : *of_kind) batch = std::max(batch, size);
  }
  // Activations grow with the rows; what does not is little beside them.
  const auto fits =
      static_cast<std::int64_t>(static_cast<double>(batch) * static_cast<double>(free) / static_cast<double>(wanted));
  const std::string examples =
      on_host() ? "" : fmt::format(" and {} of examples", report::bytes_text(own.examples()->bytes()));
  throw Error(
      fmt::format("{}: not enough memory: a global batch of {} wants {} for activations and inputs here, and {} are "
                  "free, beside {} "
                  "of variables, gradients and optimizer{}; {}",
                  on_host() ? "cpu" : own.device().id().text(), batch, report::bytes_text(wanted),
                  report::bytes_text(free), report::bytes_text(mirror(lane).bytes()), examples,
                  fits >= placement_.replicas ? fmt::format("a global batch of about {} would fit", fits)
                                              : "no batch would fit; use a smaller model or another device"));
}

}  // namespace mirrortrain
