#pragma once

#include <cstddef>
#include <span>

#include "base/dtype.h"
#include "base/shape.h"

namespace mirrortrain {

/// A dense, row-major tensor in memory that it does not own; images are [rows, height, width, channels]. `data`
/// is null where a kernel's optional output is not wanted.
struct TensorView {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::byte* data = nullptr;

  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }

  /// The elements as T, which must be the type that `dtype` names.
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  template <class T>
  std::span<T> span() const {
    return {as<T>(), static_cast<std::size_t>(elements())};
  }
};

}  // namespace mirrortrain
