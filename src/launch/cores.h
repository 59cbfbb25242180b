#pragma once

#include <sched.h>

#include <span>
#include <vector>

namespace mirrortrain::launch {

/// The cores as the kernel's type.
cpu_set_t core_set(std::span<const int> cores);

/// The `part`-th of `parts` parts of a list, as equal as possible, in order, larger parts first.
struct Share {
  std::size_t first = 0, count = 0;
};
Share share_of(std::size_t length, int part, int parts);

/// Restricts this thread to these cores while it lives (none: no change).
class OnCores {
 public:
  explicit OnCores(std::span<const int> cores);
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;
  ~OnCores();

 private:
  cpu_set_t before_;
};

}  // namespace mirrortrain::launch
