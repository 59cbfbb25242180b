#include "base/bfloat16.h"
#include "base/host_device.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/pack.h"

namespace mirrortrain::cuda {
namespace {

/// A conversion of one element for its channel. It is created for a thread's first element and called for its elements
/// in turn.
template <class From>
struct Affine {
  using Real = std::conditional_t<sizeof(From) <= 2 || std::is_same_v<From, float>, float, double>;
  DeviceAffine affine;

  struct Walk {
    DeviceAffine affine;
    std::int64_t channel;

    __device__ float operator()(Real x) {
      if (affine.identity) return static_cast<float>(x);
      const float converted = affine.in_double ? convert(static_cast<double>(x)) : convert(x);
      if (++channel == affine.period) channel = 0;
      return converted;
    }
    template <class T>
    __device__ float convert(T x) const {
      const T shift = static_cast<T>(affine.shift[channel]), scale = static_cast<T>(affine.scale[channel]);
      return static_cast<float>((x - shift) * scale + static_cast<T>(affine.offset[channel]));
    }
  };
  __device__ Walk from(std::int64_t element) const {
    return {affine, affine.period == 1 ? 0 : divide(element, affine.period).rest};
  }
};

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

/// A thread among those that share one of a launch's tasks.
struct Worker {
  std::int64_t number, all;
};

template <class From>
struct Features {
  const From* source;
  std::int64_t stride, elements;  ///< of a row; elements: those used
  Affine<From> affine;
  bool aligned;
};

template <class From, class To>
__device__ void gather_features(const Features<From>& features, const RowChoice& rows, const Worker& worker, To* to) {
  using Real = typename Affine<From>::Real;
  constexpr int kCount = kPackOf<To>;
  const std::int64_t elements = features.elements, packs = (elements + kCount - 1) / kCount;
  for (std::int64_t number = worker.number; number < rows.count * packs; number += worker.all) {
    const Division place = divide(number, packs);
    const std::int64_t first = place.rest * kCount, left = elements - first;
    const bool whole = features.aligned && left >= kCount;
    Real value[kCount];
    load(value, features.source + (rows.first + rows.chosen[place.quotient]) * features.stride + first, left, whole);
    auto convert = features.affine.from(first);
    float converted[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) converted[i] = convert(value[i]);
    store(to + place.quotient * elements + first, converted, left, whole);
  }
}

/// Labels keep their value, or become one-hot where `depth` is not 0.
struct Labels {
  const std::byte* source;
  DType from, to_dtype;
  std::int64_t stride, elements, depth;  ///< of a row; elements: those used
  std::byte* to;

  MIRRORTRAIN_HOST_DEVICE std::int64_t count(const RowChoice& rows) const {
    return rows.count * elements * (depth > 0 ? depth : 1);
  }
};

template <class From>
__device__ void gather_labels_from(const From* source, const Labels& labels, const RowChoice& rows,
                                   const Worker& worker) {
  const std::int64_t depth = labels.depth > 0 ? labels.depth : 1;
  for (std::int64_t i = worker.number; i < labels.count(rows); i += worker.all) {
    const Division vector = divide(i, depth), label = divide(vector.quotient, labels.elements);
    const From stored = source[(rows.first + rows.chosen[label.quotient]) * labels.stride + label.rest];
    const auto value = static_cast<std::conditional_t<std::is_same_v<From, bfloat16>, float, From>>(stored);
    if (labels.depth > 0) {
      reinterpret_cast<float*>(labels.to)[i] = static_cast<std::int64_t>(value) == vector.rest ? 1.0f : 0.0f;
    } else if (labels.to_dtype == DType::kInt32) {
      reinterpret_cast<std::int32_t*>(labels.to)[i] = static_cast<std::int32_t>(value);
    } else {
      reinterpret_cast<float*>(labels.to)[i] = static_cast<float>(value);
    }
  }
}

__device__ inline void gather_labels(const Labels& labels, const RowChoice& rows, const Worker& worker) {
  const auto from = [&](auto* source) { gather_labels_from(source, labels, rows, worker); };
  switch (labels.from) {
    case DType::kUint8: return from(reinterpret_cast<const std::uint8_t*>(labels.source));
    case DType::kInt32: return from(reinterpret_cast<const std::int32_t*>(labels.source));
    case DType::kInt64: return from(reinterpret_cast<const std::int64_t*>(labels.source));
    case DType::kBfloat16: return from(reinterpret_cast<const bfloat16*>(labels.source));
    case DType::kFloat64: return from(reinterpret_cast<const double*>(labels.source));
    case DType::kFloat32: break;
  }
  from(reinterpret_cast<const float*>(labels.source));
}

__device__ inline void copy_words(const SmallCopy& copy, const Worker& worker) {
  const auto* from = reinterpret_cast<const std::uint64_t*>(copy.from);
  auto* to = reinterpret_cast<std::uint64_t*>(copy.to);
  const auto words = static_cast<std::int64_t>(copy.bytes / sizeof(*to));
  for (std::int64_t i = worker.number; i < words; i += worker.all) to[i] = from[i];
}

struct SmallCopies {
  SmallCopy copy[2];
};

/// Blocks for the features, then for the labels, then one for the copies.
template <class From, class To>
__global__ void __launch_bounds__(kBlock)
    gather_batch(RowChoice rows, Features<From> features, To* to, unsigned features_blocks, Labels labels,
                 unsigned labels_blocks, SmallCopies copies) {
  const auto worker = [](unsigned first_block, unsigned blocks) {
    return Worker{static_cast<std::int64_t>(blockIdx.x - first_block) * blockDim.x + threadIdx.x,
                  static_cast<std::int64_t>(blocks) * blockDim.x};
  };
  if (blockIdx.x < features_blocks) {
    gather_features(features, rows, worker(0, features_blocks), to);
  } else if (blockIdx.x < features_blocks + labels_blocks) {
    gather_labels(labels, rows, worker(features_blocks, labels_blocks));
  } else {
    for (const SmallCopy& copy : copies.copy) copy_words(copy, worker(features_blocks + labels_blocks, 1));
  }
}

template <class From, class To>
void launch_gather(Stream& stream, const DeviceBatch& batch) {
  constexpr std::int64_t kCount = kPackOf<To>;
  const DeviceRows& source = batch.features;
  auto* const to = reinterpret_cast<To*>(batch.features_to);
  const bool aligned =
      source.elements % kCount == 0 && source.taken % kCount == 0 && in_packs(source.data, batch.features_to);
  const Features<From> features{
      reinterpret_cast<const From*>(source.data), source.elements, source.taken, {batch.affine}, aligned};
  const Labels labels{batch.labels.data,  batch.labels.dtype,  batch.labels_dtype, batch.labels.elements,
                      batch.labels.taken, batch.one_hot_depth, batch.labels_to};
  const SmallCopies copies{{batch.copies[0], batch.copies[1]}};
  const unsigned features_blocks = blocks_for(batch.rows.count * ((source.taken + kCount - 1) / kCount)),
                 labels_blocks = blocks_for(labels.count(batch.rows)),
                 copies_blocks = copies.copy[0].bytes + copies.copy[1].bytes > 0 ? 1 : 0;
  launch(stream, features_blocks + labels_blocks + copies_blocks, kBlock, 0, gather_batch<From, To>, batch.rows,
         features, to, features_blocks, labels, labels_blocks, copies);
}

}  // namespace

void gather(Stream& stream, const DeviceBatch& batch) {
  with_element(batch.features.dtype, [&]<class From>(From) {
    if (batch.features_dtype == DType::kBfloat16) {
      launch_gather<From, bfloat16>(stream, batch);
    } else {
      launch_gather<From, float>(stream, batch);
    }
  });
}

}  // namespace mirrortrain::cuda
