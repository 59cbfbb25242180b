#include "graph/ops/elementwise.h"
#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/row.h"

namespace mirrortrain::cpu {
namespace {

template <class T>
void softmax_row(const T* x, T* y, std::int64_t classes) {
  const float largest = Row::largest(classes, [&](auto i) { return Row::load(x, i); });
  const auto power = [&](auto i) { return scalar::exp<Vec>(Row::load(x, i) - largest); };
  const float scale = 1.0f / Row::sum(classes, power);
  Row::each(classes, [&](auto i) { Row::store(y, i, power(i) * scale); });
}

/// dx = y (dy - sum(y dy))
template <class T>
void softmax_gradient_row(const T* y, const T* dy, T* dx, std::int64_t classes) {
  const float dot = Row::sum(classes, [&](auto i) -> Vec { return Row::load(y, i) * Row::load(dy, i); });
  Row::each(classes, [&](auto i) { Row::store(dx, i, Row::load(y, i) * (Row::load(dy, i) - dot)); });
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
