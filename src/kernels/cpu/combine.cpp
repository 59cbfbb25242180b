#include "graph/ops/combine.h"

#include <type_traits>

#include "kernels/cpu/registry.h"
#include "kernels/cpu/walk.h"
#include "kernels/scalar/combine.h"

namespace mirrortrain::cpu {
namespace {

/// Calls with_strides(a, b) with the strides of the last axis, those of 0 and 1 as constants.
template <class Function>
void with_strides(std::int64_t a, std::int64_t b, const Function& function) {
  using Zero = std::integral_constant<std::int64_t, 0>;
  using One = std::integral_constant<std::int64_t, 1>;
  if (a == 1 && b == 1) return function(One{}, One{});
  if (a == 1 && b == 0) return function(One{}, Zero{});
  if (a == 0 && b == 1) return function(Zero{}, One{});
  function(a, b);
}

/// b's element type is a's, or float where b is a variable.
template <class Make>
std::unique_ptr<Kernel> for_types(const Op& op, const TensorView& a, const TensorView& b, const Make& make) {
  return for_float_type(op, a.dtype, [&]<class A>(A) -> std::unique_ptr<Kernel> {
    return b.dtype == DType::kFloat32 ? make(A{}, float{}) : make(A{}, A{});
  });
}

std::unique_ptr<Kernel> make_combine(const ops::Combine& op, const KernelSpecs& specs) {
  const Walk<3> walk = scalar::combine_walk(specs.outputs[0].shape, specs.inputs[0].shape, specs.inputs[1].shape);
  return for_types(op, specs.inputs[0], specs.inputs[1], [&]<class A, class B>(A, B) {
    return loop_kernel([walk, kind = op.kind, threads = specs.threads](const KernelArgs& args) {
      const A* a = input<A>(args, 0);
      const B* b = input<B>(args, 1);
      A* y = output<A>(args, 0);
      const auto& last = walk.stride[walk.axes - 1];
      scalar::with_combine(kind, [&](auto combine) {
        with_strides(last[1], last[2], [&](auto step_a, auto step_b) {
          for_stretches(walk, threads, [=](const auto& place, std::int64_t elements) {
            const A* from_a = a + place.at[1];
            const B* from_b = b + place.at[2];
            A* to = y + place.at[0];
            for (std::int64_t i = 0; i < elements; ++i) {
              to[i] = A(combine(static_cast<float>(from_a[i * step_a]), static_cast<float>(from_b[i * step_b])));
            }
          });
        });
      });
    });
  });
}

std::unique_ptr<Kernel> make_choice_gradient(const ops::ChoiceGradient& op, const KernelSpecs& specs) {
  const Walk<3> walk = scalar::combine_walk(specs.outputs[0].shape, specs.inputs[1].shape, specs.inputs[2].shape);
  return for_types(op, specs.inputs[1], specs.inputs[2], [&]<class A, class B>(A, B) {
    return loop_kernel([walk, kind = op.kind, of_first = op.of_first, threads = specs.threads](const KernelArgs& args) {
      const A *dy = input<A>(args, 0), *a = input<A>(args, 1);
      const B* b = input<B>(args, 2);
      A* dx = output<A>(args, 0);
      const auto& last = walk.stride[walk.axes - 1];
      for_stretches(walk, threads, [=](const auto& place, std::int64_t elements) {
        for (std::int64_t i = 0; i < elements; ++i) {
          const auto of_a = static_cast<float>(a[place.at[1] + i * last[1]]);
          const auto of_b = static_cast<float>(b[place.at[2] + i * last[2]]);
          dx[place.at[0] + i] = scalar::is_chosen(kind, of_first, of_a, of_b) ? dy[place.at[0] + i] : A(0.0f);
        }
      });
    });
  });
}

std::unique_ptr<Kernel> make_scale(const ops::Scale& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([count, factor = op.factor, threads = specs.threads](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      parallel_for(threads, count, kThreadGrain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = T(factor * static_cast<float>(x[i]));
      });
    });
  });
}

}  // namespace

void add_combine_kernels(KernelRegistry& registry) {
  registry.add<ops::Combine>(make_combine);
  registry.add<ops::ChoiceGradient>(make_choice_gradient);
  registry.add<ops::Scale>(make_scale);
}

}  // namespace mirrortrain::cpu
