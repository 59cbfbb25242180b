// Gradients that need a matrix multiplication of the backend's own, which the custom CUDA kernels alone do not have.
#include <doctest/doctest.h>

#include "kernels/recurrent_cases.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

TEST_CASE("gradients of the recurrent kernel and bias") {
  for (const ops::Cell cell : kCells) {
    for (const std::int64_t units : {3, 17}) {
      Case test = recurrent_case(DType::kFloat32, {.cell = cell, .backwards = units == 3}, 4, units, true);
      test.rows = {3, 0};
      check_gradient(test, {true, true, true});
      check_gradient(test, {false, false, true});
    }
    check_gradient(recurrent_case(DType::kFloat32, {.cell = cell}, 3, 4, false), {false, true, false});
    Case masked = masked_recurrent_case(DType::kFloat32, {.cell = cell}, 5, 7, true);
    masked.rows = {4};
    check_gradient(masked, {true, true, true, false});
  }
}
