#pragma once

/// Marks functions that compile for both the host and a CUDA device.
#if defined(__CUDACC__)
#define MIRRORTRAIN_HOST_DEVICE __host__ __device__
#else
#define MIRRORTRAIN_HOST_DEVICE
#endif

/// The same where another compiler compiles the host's side: for functions that call a backend's own ones.
#if defined(__CUDACC__)
#define MIRRORTRAIN_DEVICE __device__
#else
#define MIRRORTRAIN_DEVICE
#endif

/// For short functions that vectorized loops call. The compiler's own choice depends on what else is in the file, and a
/// loop around a call is computed element by element, several times as slowly.
#define MIRRORTRAIN_ALWAYS_INLINE inline __attribute__((always_inline))

namespace mirrortrain {

/// std::bit_cast, which device code may call only with a compiler option.
template <class To, class From>
MIRRORTRAIN_HOST_DEVICE constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace mirrortrain
