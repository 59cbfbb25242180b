#pragma once

#include "kernels/cpu/pool2d.h"

namespace mirrortrain::cpu {

// The pooling that most networks have: 2 x 2 windows side by side, without padding.
bool is_halving(const PoolShape& shape);

/// `positions` may be null.
template <class T>
void halve(const PoolShape& shape, bool relu, int threads, const T* x, T* y, std::uint8_t* positions);

/// `y` is the output where relu was fused, else null.
template <class T>
void halve_gradient(const PoolShape& shape, int threads, const T* dy, const std::uint8_t* positions, const T* y, T* dx);

}  // namespace mirrortrain::cpu
