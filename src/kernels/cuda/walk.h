#pragma once

#include "kernels/cuda/launch.h"
#include "kernels/scalar/walk.h"

namespace mirrortrain::cuda {

using scalar::Walk;

/// Calls body(place) for this thread's elements of a walk, one by one.
template <int kTensors, class Body>
__device__ inline void each_place(const Walk<kTensors>& walk, const Body& body) {
  for (std::int64_t i = grid_thread(); i < walk.count; i += grid_threads()) body(walk.place(i));
}

}  // namespace mirrortrain::cuda
