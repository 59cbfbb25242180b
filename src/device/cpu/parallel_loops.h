#pragma once

#include <algorithm>
#include <cstdint>

namespace mirrortrain {

/// Calls call(argument, part) for each part in [0, parts) on the calling thread's ThreadTeam: see ThreadTeam::run.
void run_parts(int threads, int parts, void (*call)(void* argument, int part) noexcept, void* argument);

/// Calls body(part, begin, end) over [0, count) in up to `threads` even parts that are multiples of `grain` (the last
/// has the rest), on the calling thread's ThreadTeam. The parts depend only on the arguments, so that a sum per part is
/// bitwise reproducible. `body` must not throw where there are several.
template <class Body>
void parallel_parts(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const int parts = static_cast<int>(std::clamp<std::int64_t>(grains, 1, threads));
  const auto edge = [&](int part) { return std::min(count, grains * part / parts * grain); };
  if (parts == 1) {
    body(0, std::int64_t{0}, count);
    return;
  }
  auto run_part = [&](int part) { body(part, edge(part), edge(part + 1)); };
  using RunPart = decltype(run_part);
  run_parts(
      parts, parts, [](void* run, int part) noexcept { (*static_cast<RunPart*>(run))(part); }, &run_part);
}

/// As parallel_parts, for bodies that do not need the part's index: body(begin, end).
template <class Body>
void parallel_for(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  parallel_parts(threads, count, grain, [&](int, std::int64_t begin, std::int64_t end) { body(begin, end); });
}

}  // namespace mirrortrain
