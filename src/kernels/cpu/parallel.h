#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mirrortrain::cpu {

/// Calls body(part, begin, end) over [0, count) in up to `threads` even parts that are multiples of `grain` (the last
/// has the rest). The parts depend only on the arguments, so that a sum per part is bitwise reproducible.
template <class Body>
void parallel_parts(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  const std::int64_t grains = (count + grain - 1) / grain;
  const int parts = static_cast<int>(std::clamp<std::int64_t>(grains, 1, threads));
  const auto edge = [&](int part) { return std::min(count, grains * part / parts * grain); };
  if (parts == 1) {
    body(0, std::int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) body(part, edge(part), edge(part + 1));
}

/// As parallel_parts, for bodies that do not need the part's index: body(begin, end).
template <class Body>
void parallel_for(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  parallel_parts(threads, count, grain, [&](int, std::int64_t begin, std::int64_t end) { body(begin, end); });
}

/// Lays out parts of a workspace consecutively, each aligned to 64 bytes.
class WorkspaceLayout {
 public:
  /// Returns the part's offset.
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// The same with parts of floats, and offsets in floats.
struct FloatLayout : WorkspaceLayout {
  std::size_t floats(std::int64_t count) {
    return add(static_cast<std::size_t>(count) * sizeof(float)) / sizeof(float);
  }
};

}  // namespace mirrortrain::cpu
