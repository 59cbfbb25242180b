#include "base/bfloat16.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/pack.h"

namespace mirrortrain::cuda {
namespace {

/// A conversion of one element for its channel. It is made for a thread's first element and asked for one after the
/// other.
template <class From>
struct Affine {
  using Real = std::conditional_t<sizeof(From) <= 2 || std::is_same_v<From, float>, float, double>;
  DeviceAffine affine;

  struct Walk {
    DeviceAffine affine;
    std::int64_t channel;

    __device__ float operator()(Real x) {
      if (affine.identity) return static_cast<float>(x);
      const Real shift = static_cast<Real>(affine.shift[channel]), scale = static_cast<Real>(affine.scale[channel]);
      const Real offset = static_cast<Real>(affine.offset[channel]);
      if (++channel == affine.channels) channel = 0;
      return static_cast<float>((x - shift) * scale + offset);
    }
  };
  __device__ Walk from(std::int64_t element) const {
    return {affine, affine.channels == 1 ? 0 : divide(element, affine.channels).rest};
  }
};

/// Labels keep their value.
template <class From, class To>
struct Plain {
  using Real = std::conditional_t<std::is_same_v<From, bfloat16>, float, From>;
  struct Walk {
    __device__ To operator()(Real x) const { return static_cast<To>(x); }
  };
  __device__ Walk from(std::int64_t) const { return {}; }
};

template <class From, class To, class Conversion>
__global__ void __launch_bounds__(kBlock)
    gather(const From* source, std::int64_t elements, RowChoice rows, bool aligned, Conversion conversion, To* to) {
  using Real = typename Conversion::Real;
  constexpr int kCount = kPackOf<To>;
  const std::int64_t packs = (elements + kCount - 1) / kCount;
  for (std::int64_t number = grid_thread(); number < rows.count * packs; number += grid_threads()) {
    const Division place = divide(number, packs);
    const std::int64_t first = place.rest * kCount, left = elements - first;
    const bool whole = aligned && left >= kCount;
    Real value[kCount];
    load(value, source + (rows.first + rows.chosen[place.quotient]) * elements + first, left, whole);
    auto convert = conversion.from(first);
    decltype(convert(Real{})) converted[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) converted[i] = convert(value[i]);
    store(to + place.quotient * elements + first, converted, left, whole);
  }
}

template <class From>
__global__ void __launch_bounds__(kBlock)
    gather_one_hot(const From* source, std::int64_t elements, RowChoice rows, std::int64_t depth, float* to) {
  for (std::int64_t i = grid_thread(); i < rows.count * elements * depth; i += grid_threads()) {
    const Division vector = divide(i, depth), label = divide(vector.quotient, elements);
    const From value = source[(rows.first + rows.chosen[label.quotient]) * elements + label.rest];
    to[i] = static_cast<std::int64_t>(value) == vector.rest ? 1.0f : 0.0f;
  }
}

template <class From, class To, class Conversion>
void launch_gather(Stream& stream, const DeviceRows& source, const RowChoice& rows, const Conversion& conversion,
                   std::byte* to) {
  constexpr std::int64_t kCount = kPackOf<To>;
  const bool aligned = source.elements % kCount == 0 && in_packs(source.data, to);
  launch(stream, blocks_for(rows.count * ((source.elements + kCount - 1) / kCount)), kBlock, 0,
         gather<From, To, Conversion>, reinterpret_cast<const From*>(source.data), source.elements, rows, aligned,
         conversion, reinterpret_cast<To*>(to));
}

/// Calls function(T{}) with the type of a data set's elements.
template <class Function>
void with_element(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::kUint8: return function(std::uint8_t{});
    case DType::kInt32: return function(std::int32_t{});
    case DType::kInt64: return function(std::int64_t{});
    case DType::kBfloat16: return function(bfloat16{});
    case DType::kFloat64: return function(double{});
    case DType::kFloat32: break;
  }
  return function(float{});
}

}  // namespace

void gather_rows(Stream& stream, const DeviceRows& source, const RowChoice& rows, const DeviceAffine& affine,
                 DType dtype, std::byte* to) {
  with_element(source.dtype, [&]<class From>(From) {
    if (dtype == DType::kBfloat16) {
      launch_gather<From, bfloat16>(stream, source, rows, Affine<From>{affine}, to);
    } else {
      launch_gather<From, float>(stream, source, rows, Affine<From>{affine}, to);
    }
  });
}

void gather_labels(Stream& stream, const DeviceRows& source, const RowChoice& rows, DType dtype,
                   std::int64_t one_hot_depth, std::byte* to) {
  with_element(source.dtype, [&]<class From>(From) {
    if (one_hot_depth > 0) {
      launch(stream, blocks_for(rows.count * source.elements * one_hot_depth), kBlock, 0, gather_one_hot<From>,
             reinterpret_cast<const From*>(source.data), source.elements, rows, one_hot_depth,
             reinterpret_cast<float*>(to));
    } else if (dtype == DType::kInt32) {
      launch_gather<From, std::int32_t>(stream, source, rows, Plain<From, std::int32_t>{}, to);
    } else {
      launch_gather<From, float>(stream, source, rows, Plain<From, float>{}, to);
    }
  });
}

}  // namespace mirrortrain::cuda
