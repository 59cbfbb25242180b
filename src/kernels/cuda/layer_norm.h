#pragma once

#include <cstdint>

#include "device/device.h"
#include "kernels/scalar/group_norm.h"

// Layer normalization: rows of neighbouring elements, each normalized on its own, by a warp that keeps the row in
// registers. Other sets of elements have the kernels of group_norm.cu.
namespace mirrortrain::cuda {

/// Whether the functions below take such rows: whole packs, and not too many for a warp's registers. Their tensors are
/// aligned to 16 bytes.
bool fits_warp(const scalar::GroupNormShape& s);

/// As ops::GroupNorm; gamma, beta, means and inverses may be null.
template <class T>
void normalize_rows(Stream& stream, const scalar::GroupNormShape& s, float epsilon, const T* x, const float* gamma,
                    const float* beta, T* y, float* means, float* inverses);

/// The gradient of x, as ops::GroupNormGradient; gamma may be null.
template <class T>
void row_norm_gradient(Stream& stream, const scalar::GroupNormShape& s, const T* x, const T* dy, const float* gamma,
                       const float* means, const float* inverses, T* dx);

/// partial[part][2][channel]: the sums over every parts-th kNormStrands samples of dy times the normalized x, for
/// gamma, and of dy, for beta.
inline constexpr unsigned kNormStrands = 8;
template <class T>
void row_norm_sums(Stream& stream, const scalar::GroupNormShape& s, std::int64_t parts, const T* x, const T* dy,
                   const float* means, const float* inverses, double* partial);

}  // namespace mirrortrain::cuda
