#include "kernels/cuda/weight_forms.h"

#include <doctest/doctest.h>

#include "base/bfloat16.h"
#include "kernels/storage.h"
#include "kernels_cuda/under_test.h"

using namespace mirrortrain;
using testing::Storage;
using testing::stream_under_test;

namespace {

/// Numbers that bfloat16 rounds.
float weight(std::int64_t i) { return 0.1f * static_cast<float>(i % 1000) - 30; }

struct Weights {
  Storage memory;
  TensorView view;
  explicit Weights(const Shape& shape)
      : memory(static_cast<std::size_t>(shape.elements()) * 4), view{DType::kFloat32, shape, memory.data()} {
    for (std::int64_t i = 0; i < shape.elements(); ++i) view.as<float>()[i] = weight(i);
  }
};

/// Element i of the form, refreshed from `weights`.
std::vector<float> refreshed(const DerivedForm& form, const Weights& weights, DType dtype) {
  const Storage copy(form.bytes);
  form.refresh(stream_under_test(), weights.view, copy.data());
  stream_under_test().synchronize();
  CHECK(copy.intact());
  std::vector<float> elements;
  for (std::int64_t i = 0; i < weights.view.elements(); ++i) {
    elements.push_back(dtype == DType::kFloat32
                           ? reinterpret_cast<const float*>(copy.data())[i]
                           : static_cast<float>(reinterpret_cast<const bfloat16*>(copy.data())[i]));
  }
  return elements;
}

float in_dtype(DType dtype, float value) {
  return dtype == DType::kFloat32 ? value : static_cast<float>(bfloat16(value));
}

}  // namespace

TEST_CASE("a convolution's kernel comes to cuDNN with the filters first, in the images' dtype") {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16}) {
    const std::int64_t taps = 3 * 2 * 5, out = 7;
    const Weights kernel({3, 2, 5, out});
    const DerivedForm form = cuda::filter_form(kernel.view, dtype);
    CHECK(form.bytes == static_cast<std::size_t>(taps * out) * size_of(dtype));
    const std::vector<float> found = refreshed(form, kernel, dtype);
    for (std::int64_t i = 0; i < taps * out; ++i) {
      const std::int64_t filter = i / taps, tap = i % taps;
      CHECK(found[static_cast<std::size_t>(i)] == in_dtype(dtype, weight(tap * out + filter)));
    }
  }
}

TEST_CASE("a variable that is kept with the filters first serves as it is, or rounded in its order") {
  const Weights kernel({3, 3, 4, 8});
  CHECK_FALSE(cuda::filter_form(kernel.view, DType::kFloat32).of_out_first->refresh);
  const auto rounded = cuda::filter_form(kernel.view, DType::kBfloat16).of_out_first;
  REQUIRE(rounded->refresh);
  CHECK(rounded->is_rounded);
  const std::vector<float> found = refreshed(*rounded, kernel, DType::kBfloat16);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == in_dtype(DType::kBfloat16, weight(static_cast<std::int64_t>(i))));
  }
}

TEST_CASE("a dense kernel has a form where its dtype is another one") {
  const Weights kernel({33, 65});
  CHECK_FALSE(cuda::dtype_form(kernel.view, DType::kFloat32));
  const auto form = cuda::dtype_form(kernel.view, DType::kBfloat16);
  REQUIRE(form);
  CHECK(form->key != cuda::filter_form(kernel.view, DType::kBfloat16).key);
  const std::vector<float> found = refreshed(*form, kernel, DType::kBfloat16);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == in_dtype(DType::kBfloat16, weight(static_cast<std::int64_t>(i))));
  }
}

TEST_CASE("an activation goes over a kernel's output in place, and a linear one nowhere") {
  for (const auto kind : {ops::ActivationKind::kLinear, ops::ActivationKind::kRelu}) {
    const Weights y({11, 90});
    cuda::ActivationPass(kind, y.view).enqueue(stream_under_test(), {.outputs = {&y.view, 1}});
    stream_under_test().synchronize();
    CHECK(y.memory.intact());
    for (std::int64_t i = 0; i < y.view.elements(); ++i) {
      const float expected = kind == ops::ActivationKind::kRelu ? std::max(weight(i), 0.0f) : weight(i);
      CHECK(y.view.as<float>()[i] == expected);
    }
  }
}
