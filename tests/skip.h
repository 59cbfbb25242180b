#pragma once

#include <doctest/doctest.h>

namespace mirrortrain::testing {

/// Test cases that could not run here; tests/cuda_main.cpp tells how many.
inline int skipped_cases = 0;

/// Whether a test case has to return at once because of what this machine lacks. Counted.
inline bool skip_without(bool there, const char* what) {
  if (there) return false;
  ++skipped_cases;
  MESSAGE("skipped: this test case needs ", what);
  return true;
}

}  // namespace mirrortrain::testing
