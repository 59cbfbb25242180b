#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mirrortrain {

/// For loops that wait for another thread's write: leaves the core's execution units to its sibling.
inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace mirrortrain
