#pragma once

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/scalar/walk.h"

namespace mirrortrain::cpu {

using scalar::Strides;
using scalar::Walk;

/// Calls body(place of the first element, elements) for stretches of the last axis: element i of a stretch is at
/// place.at[t] + i * walk.stride[walk.axes - 1][t] of tensor t. Stretches are split over the threads.
template <int kTensors, class Body>
void for_stretches(const Walk<kTensors>& walk, int threads, const Body& body) {
  const std::int64_t line = walk.extent[walk.axes - 1];
  parallel_for(threads, walk.count, kThreadGrain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t elements = std::min(end - begin, line - begin % line);
      body(walk.place(begin), elements);
      begin += elements;
    }
  });
}

}  // namespace mirrortrain::cpu
