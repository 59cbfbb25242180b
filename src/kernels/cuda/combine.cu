#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/walk.h"
#include "kernels/scalar/combine.h"

namespace mirrortrain::cuda {
namespace {

template <class Function, class A, class B>
__global__ void __launch_bounds__(kBlock) combine(Walk<3> walk, const A* a, const B* b, A* y) {
  each_place(walk, [&](const auto& place) {
    y[place.at[0]] = A(Function()(static_cast<float>(a[place.at[1]]), static_cast<float>(b[place.at[2]])));
  });
}

/// A number of each tensor for an element of the pack at a place.
template <int kPack, class T>
__device__ inline void load_or_spread(float (&to)[kPack], const T* from, bool spread) {
  if (!spread) return load(to, from, kPack, true);
  const auto one = static_cast<float>(*from);
#pragma unroll
  for (float& value : to) value = one;
}

/// `walk` is one in packs.
template <class Function, class A, class B>
__global__ void __launch_bounds__(kBlock) combine_packs(Walk<3> walk, const A* a, const B* b, A* y) {
  constexpr int kPack = kPackOf<A>;
  const int last = walk.axes - 1;
  each_place(walk, [&](const auto& place) {
    float first[kPack], second[kPack];
    load_or_spread(first, a + place.at[1], walk.stride[last][1] == 0);
    load_or_spread(second, b + place.at[2], walk.stride[last][2] == 0);
#pragma unroll
    for (int i = 0; i < kPack; ++i) first[i] = Function()(first[i], second[i]);
    store(y + place.at[0], first, kPack, true);
  });
}

template <class A, class B>
__global__ void __launch_bounds__(kBlock)
    choice_gradient(Walk<3> walk, ops::CombineKind kind, bool of_first, const A* dy, const A* a, const B* b, A* dx) {
  each_place(walk, [&](const auto& place) {
    const bool passes =
        scalar::is_chosen(kind, of_first, static_cast<float>(a[place.at[1]]), static_cast<float>(b[place.at[2]]));
    dx[place.at[0]] = passes ? dy[place.at[0]] : A(0.0f);
  });
}

template <class T>
__global__ void __launch_bounds__(kBlock) scale(std::int64_t count, bool aligned, float factor, const T* x, T* y) {
  each_pack<kPackOf<T>>(count, aligned, [=](std::int64_t i, std::int64_t left, bool whole) {
    float value[kPackOf<T>];
    load(value, x + i, left, whole);
    for (float& one : value) one *= factor;
    store(y + i, value, left, whole);
  });
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
    return stream_kernel(
        [walk, packs = walk.in_packs(kPackOf<A>), kind = op.kind](Stream& stream, const KernelArgs& args) {
          const A* a = input<A>(args, 0);
          const B* b = input<B>(args, 1);
          A* const y = output<A>(args, 0);
          const bool fits = packs.axes > 0 && in_packs(a, b, y);
          scalar::with_combine(kind, [&]<class Function>(Function) {
            launch(stream, blocks_for(fits ? packs.count : walk.count), kBlock, 0,
                   fits ? combine_packs<Function, A, B> : combine<Function, A, B>, fits ? packs : walk, a, b, y);
          });
        });
  });
}

std::unique_ptr<Kernel> make_choice_gradient(const ops::ChoiceGradient& op, const KernelSpecs& specs) {
  const Walk<3> walk = scalar::combine_walk(specs.outputs[0].shape, specs.inputs[1].shape, specs.inputs[2].shape);
  return for_types(op, specs.inputs[1], specs.inputs[2], [&]<class A, class B>(A, B) {
    return stream_kernel([walk, kind = op.kind, of_first = op.of_first](Stream& stream, const KernelArgs& args) {
      launch(stream, blocks_for(walk.count), kBlock, 0, choice_gradient<A, B>, walk, kind, of_first, input<A>(args, 0),
             input<A>(args, 1), input<B>(args, 2), output<A>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_scale(const ops::Scale& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([count, factor = op.factor](Stream& stream, const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      launch(stream, blocks_for(count, kBlock * kPackOf<T>), kBlock, 0, scale<T>, count, in_packs(x, y), factor, x, y);
    });
  });
}

}  // namespace

void add_combine_kernels(KernelRegistry& registry) {
  registry.add<ops::Combine>(make_combine);
  registry.add<ops::ChoiceGradient>(make_choice_gradient);
  registry.add<ops::Scale>(make_scale);
}

}  // namespace mirrortrain::cuda
