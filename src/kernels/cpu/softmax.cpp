#include <limits>

#include "graph/ops/elementwise.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/scalar/math.h"

namespace mirrortrain::cpu {
namespace {

template <class T>
void softmax_row(const T* x, T* y, std::int64_t classes) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < classes; ++i) largest = std::max(largest, static_cast<float>(x[i]));
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < classes; ++i) sum += scalar::exp(static_cast<float>(x[i]) - largest);
  const float scale = 1.0f / sum;
  for (std::int64_t i = 0; i < classes; ++i) y[i] = T(scalar::exp(static_cast<float>(x[i]) - largest) * scale);
}

/// dx = y (dy - sum(y dy))
template <class T>
void softmax_gradient_row(const T* y, const T* dy, T* dx, std::int64_t classes) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (std::int64_t i = 0; i < classes; ++i) dot += static_cast<float>(y[i]) * static_cast<float>(dy[i]);
  for (std::int64_t i = 0; i < classes; ++i) dx[i] = T(static_cast<float>(y[i]) * (static_cast<float>(dy[i]) - dot));
}

/// Calls body(first element of the row) for each row of the last axis.
template <class Body>
void for_rows(int threads, std::int64_t elements, std::int64_t classes, const Body& body) {
  const std::int64_t rows = classes == 0 ? 0 : elements / classes;
  parallel_for(threads, rows, rows_per_thread(classes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row * classes);
  });
}

std::unique_ptr<Kernel> make_softmax(const ops::Softmax& op, const KernelSpecs& specs) {
  const std::int64_t elements = specs.inputs[0].elements(), classes = specs.inputs[0].shape.back();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([=, threads = specs.threads](const KernelArgs& args) {
      for_rows(threads, elements, classes,
               [&](std::int64_t at) { softmax_row(input<T>(args, 0) + at, output<T>(args, 0) + at, classes); });
    });
  });
}

std::unique_ptr<Kernel> make_softmax_gradient(const ops::SoftmaxGradient& op, const KernelSpecs& specs) {
  const std::int64_t elements = specs.inputs[0].elements(), classes = specs.inputs[0].shape.back();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([=, threads = specs.threads](const KernelArgs& args) {
      for_rows(threads, elements, classes, [&](std::int64_t at) {
        softmax_gradient_row(input<T>(args, 0) + at, input<T>(args, 1) + at, output<T>(args, 0) + at, classes);
      });
    });
  });
}

}  // namespace

void add_softmax_kernels(KernelRegistry& registry) {
  registry.add<ops::Softmax>(make_softmax);
  registry.add<ops::SoftmaxGradient>(make_softmax_gradient);
}

}  // namespace mirrortrain::cpu
