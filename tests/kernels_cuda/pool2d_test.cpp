#include "graph/ops/pool2d.h"

#include <doctest/doctest.h>

#include "kernels_cuda/compare_with_cpu.h"

using namespace mirrortrain;
using namespace mirrortrain::testing;
using ops::Padding;

namespace {

struct PoolCase {
  ops::Pool2dAttributes pool;
  Shape image;
};

const PoolCase kPools[] = {
    {{{2, 2}, {2, 2}, Padding::kValid}, {7, 9, 24}},
    {{{3, 3}, {2, 2}, Padding::kSame}, {8, 5, 20}},
    {{{2, 3}, {3, 5}, Padding::kValid}, {8, 9, 6}},
    {{{5, 5}, {3, 3}, Padding::kSame}, {4, 3, 8}},
};

}  // namespace

TEST_CASE("pooling has the CPU's bits, with channels in packs and one by one") {
  for (const DType dtype : kFloatTypes) {
    for (const auto& [pool, image] : kPools) {
      compare_with_cpu({"max", std::make_shared<ops::MaxPool2d>(pool, true), {batched(dtype, image)}, {3, 0}});
      compare_with_cpu({"average", std::make_shared<ops::AveragePool2d>(pool), {batched(dtype, image)}, {3, 0}, 3e-7});
      const ValueSpec y = ops::AveragePool2d(pool).infer(std::vector<ValueSpec>{{dtype, image, true}})[0];
      compare_with_cpu({"average gradient",
                        std::make_shared<ops::AveragePool2dGradient>(pool, image),
                        {batched(dtype, y.shape)},
                        {3, 0},
                        3e-7});
    }
  }
}

TEST_CASE("global averages of many cells and of many channels are the CPU's") {
  for (const DType dtype : kFloatTypes) {
    for (const Shape& image : {Shape{31, 33, 4}, Shape{7, 7, 520}, Shape{1, 1, 1}, Shape{40, 3, 37}}) {
      const double tolerance = dtype == DType::kFloat32 ? 1e-6 : 1e-2;
      compare_with_cpu(
          {"global average", std::make_shared<ops::GlobalAveragePool2d>(), {batched(dtype, image)}, {2, 0}, tolerance});
      compare_with_cpu({"global average gradient",
                        std::make_shared<ops::GlobalAveragePool2dGradient>(image),
                        {batched(dtype, {image.back()})},
                        {2, 0}});
    }
  }
}
