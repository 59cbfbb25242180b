// Sums whose terms or outputs are read in packs, and those of a table's lookups.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ops/combine.h"
#include "graph/ops/embedding.h"
#include "kernels_cuda/compare_with_cpu.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;

namespace {

struct SumCase {
  Shape x, sum;
};
const SumCase kSums[] = {{{64}, {1}},
                         {{512}, {1}},
                         {{513}, {1}},
                         {{3, 96}, {3, 1}},
                         {{96, 8}, {96, 1}},
                         {{12, 64}, {1, 64}},
                         {{12, 60}, {1, 60}},
                         {{12, 61}, {1, 61}},
                         {{5, 16, 24}, {5, 1, 24}},
                         {{5, 16, 24}, {1, 16, 1}},
                         {{700, 16}, {1, 16}},
                         {{2, 3000}, {1, 1}}};

}  // namespace

TEST_CASE("sums of neighbouring terms, and to neighbouring outputs, are the CPU's") {
  for (const auto& [x, sum] : kSums) {
    for (const DType dtype : kFloatTypes) {
      for (const bool per_row : {true, false}) {
        if (!per_row && x.elements() > 2000) continue;
        compare_with_cpu(
            {fmt::format("sum {} of {} to {}{}", name_of(dtype), x.text(), sum.text(), per_row ? " of each row" : ""),
             std::make_shared<ops::SumTo>(sum, per_row),
             {batched(dtype, x)},
             {1, 37},
             per_row && dtype == DType::kBfloat16 ? 1e-2 : 2e-7});
      }
    }
  }
}

TEST_CASE("the largest of neighbouring terms, and of those with neighbouring outputs, is the CPU's") {
  for (const auto& [x, largest] : kSums) {
    for (const DType dtype : kFloatTypes) {
      for (const double odd :
           {0.0, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
        const Fill fill = [=](std::int64_t i, double u) { return odd != 0 && i % 97 == 5 ? odd : u - 3; };
        compare_with_cpu({fmt::format("largest {} of {} to {} with {}", name_of(dtype), x.text(), largest.text(), odd),
                          std::make_shared<ops::MaxTo>(largest),
                          {batched(dtype, x, fill)},
                          {1, 37}});
      }
    }
  }
}

TEST_CASE("a table's gradient has the CPU's bits, whether rows are looked up often, seldom or never") {
  struct Lookups {
    std::int64_t rows, width, numbers;
  };
  for (const auto& [rows, width, numbers] :
       {Lookups{50, 24, 40}, Lookups{5000, 8, 60}, Lookups{3, 40, 300}, Lookups{2, 9, 700}, Lookups{40, 2100, 3}}) {
    // Half of the numbers are those of one row, as padding is; some are beyond the table.
    const Fill fill = [rows = rows](std::int64_t i, double u) {
      return i % 2 == 0 ? 1.0 : std::floor((u + 1) / 2 * static_cast<double>(rows + 2)) - 1;
    };
    for (const DType dtype : kFloatTypes) {
      for (const std::int64_t first : {0, 1}) {
        compare_with_cpu({fmt::format("gradient of {} x {} from {}, {} numbers", rows, width, first, numbers),
                          std::make_shared<ops::EmbeddingGradient>(rows - first, first),
                          {batched(DType::kFloat32, {numbers}, fill), batched(dtype, {numbers, width})},
                          {1, 7}});
      }
    }
  }
}
