#include "graph/ops/elementwise.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/activations.h"

namespace mirrortrain::cuda {
namespace {

template <class Activation, class T>
__global__ void __launch_bounds__(kBlock) activate(std::int64_t count, bool aligned, const T* x, T* y) {
  each_pack<kPackOf<T>>(count, aligned, [=](std::int64_t i, std::int64_t left, bool whole) {
    float value[kPackOf<T>];
    load(value, x + i, left, whole);
    for (float& one : value) one = Activation::forward(one);
    store(y + i, value, left, whole);
  });
}

template <class Activation, class T>
__global__ void __launch_bounds__(kBlock)
    activation_gradient(std::int64_t count, bool aligned, const T* from, const T* dy, T* dx) {
  each_pack<kPackOf<T>>(count, aligned, [=](std::int64_t i, std::int64_t left, bool whole) {
    float value[kPackOf<T>], gradient[kPackOf<T>];
    load(value, from + i, left, whole);
    load(gradient, dy + i, left, whole);
    for (int k = 0; k < kPackOf<T>; ++k) gradient[k] = Activation::backward(value[k], gradient[k]);
    store(dx + i, gradient, left, whole);
  });
}

/// Terms of a sum, as a kernel's parameter.
template <class T>
struct Terms {
  static constexpr int kMost = 32;
  const T* term[kMost];
  int count;
};

/// sum = before + the terms in their order, in float; `before` may be null, and so may either output.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_terms(std::int64_t count, bool aligned, const float* before, Terms<T> terms, float* partial, T* y) {
  each_pack<kPackOf<T>>(count, aligned, [&](std::int64_t i, std::int64_t left, bool whole) {
    float sum[kPackOf<T>], value[kPackOf<T>];
    const bool goes_on = before != nullptr;
    if (goes_on) {
      load(sum, before + i, left, whole);
    } else {
      load(sum, terms.term[0] + i, left, whole);
    }
    for (int term = goes_on ? 0 : 1; term < terms.count; ++term) {
      load(value, terms.term[term] + i, left, whole);
      for (int k = 0; k < kPackOf<T>; ++k) sum[k] += value[k];
    }
    if (partial != nullptr) {
      store(partial + i, sum, left, whole);
    } else {
      store(y + i, sum, left, whole);
    }
  });
}

/// dx = the sum of the terms where y is positive.
template <class T>
__global__ void __launch_bounds__(kBlock)
    relu_gradient_of_sum(std::int64_t count, bool aligned, const T* y, Terms<T> terms, T* dx) {
  each_pack<kPackOf<T>>(count, aligned, [&](std::int64_t i, std::int64_t left, bool whole) {
    float output[kPackOf<T>], sum[kPackOf<T>], value[kPackOf<T>];
    load(output, y + i, left, whole);
    load(sum, terms.term[0] + i, left, whole);
    for (int term = 1; term < terms.count; ++term) {
      load(value, terms.term[term] + i, left, whole);
      for (int k = 0; k < kPackOf<T>; ++k) sum[k] += value[k];
    }
    for (int k = 0; k < kPackOf<T>; ++k) sum[k] = scalar::Relu::backward(output[k], sum[k]);
    store(dx + i, sum, left, whole);
  });
}

template <class From, class To>
__global__ void __launch_bounds__(kBlock) cast(std::int64_t count, bool aligned, const From* x, To* y) {
  constexpr int kCount = kPackOf < From >> kPackOf<To> ? kPackOf<From> : kPackOf<To>;
  each_pack<kCount>(count, aligned, [=](std::int64_t i, std::int64_t left, bool whole) {
    float value[kCount];
    load(value, x + i, left, whole);
    store(y + i, value, left, whole);
  });
}

template <class T>
unsigned blocks_of_packs(std::int64_t count) {
  return blocks_for(count, kBlock * kPackOf<T>);
}

std::unique_ptr<Kernel> make_activation(const ops::Activation& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([count, kind = op.kind](Stream& stream, const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      T* y = output<T>(args, 0);
      scalar::with_activation(kind, [&]<class Activation>(Activation) {
        launch(stream, blocks_of_packs<T>(count), kBlock, 0, activate<Activation, T>, count, in_packs(x, y), x, y);
      });
    });
  });
}

std::unique_ptr<Kernel> make_activation_gradient(const ops::ActivationGradient& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([count, kind = op.kind](Stream& stream, const KernelArgs& args) {
      const T *from = input<T>(args, 0), *dy = input<T>(args, 1);
      T* dx = output<T>(args, 0);
      scalar::with_activation(kind, [&]<class Activation>(Activation) {
        launch(stream, blocks_of_packs<T>(count), kBlock, 0, activation_gradient<Activation, T>, count,
               in_packs(from, dy, dx), from, dy, dx);
      });
    });
  });
}

/// If there are more terms than one launch accepts, the rest are added to the sum so far, which stays in float.
template <class T>
void add_n(Stream& stream, const KernelArgs& args, std::int64_t count) {
  const std::size_t all = args.inputs.size();
  auto* partial = reinterpret_cast<float*>(args.workspace);
  T* y = output<T>(args, 0);
  for (std::size_t done = 0; done < all;) {
    Terms<T> terms{};
    bool aligned = in_packs(y);
    const std::size_t before = done;
    for (; done < all && terms.count < Terms<T>::kMost; ++done) {
      const T* term = input<T>(args, done);
      terms.term[terms.count++] = term;
      aligned = aligned && in_packs(term);
    }
    launch(stream, blocks_of_packs<T>(count), kBlock, 0, add_terms<T>, count, aligned, before > 0 ? partial : nullptr,
           terms, done < all ? partial : nullptr, y);
  }
}

std::unique_ptr<Kernel> make_add_n(const ops::AddN& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const bool one_launch = specs.inputs.size() <= Terms<T>::kMost;
    return stream_kernel([count](Stream& stream, const KernelArgs& args) { add_n<T>(stream, args, count); },
                         one_launch ? 0 : static_cast<std::size_t>(count) * sizeof(float));
  });
}

std::unique_ptr<Kernel> make_relu_gradient_of_sum(const ReluGradientOfSum& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    static_assert(ReluGradientOfSum::kMostTerms == Terms<T>::kMost);
    return stream_kernel([count](Stream& stream, const KernelArgs& args) {
      const T* y = input<T>(args, 0);
      T* dx = output<T>(args, 0);
      Terms<T> terms{};
      bool aligned = in_packs(y, dx);
      for (std::size_t i = 1; i < args.inputs.size(); ++i) {
        const T* term = input<T>(args, i);
        terms.term[terms.count++] = term;
        aligned = aligned && in_packs(term);
      }
      launch(stream, blocks_of_packs<T>(count), kBlock, 0, relu_gradient_of_sum<T>, count, aligned, y, terms, dx);
    });
  });
}

template <class From, class To>
std::unique_ptr<Kernel> make_cast_of(std::int64_t count) {
  return stream_kernel([count](Stream& stream, const KernelArgs& args) {
    const From* x = input<From>(args, 0);
    To* y = output<To>(args, 0);
    constexpr int kCount = kPackOf < From >> kPackOf<To> ? kPackOf<From> : kPackOf<To>;
    launch(stream, blocks_for(count, kBlock * kCount), kBlock, 0, cast<From, To>, count, in_packs(x, y), x, y);
  });
}

__global__ void __launch_bounds__(kBlock) to_floats(std::int64_t count, const std::int32_t* x, float* y) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) y[i] = static_cast<float>(x[i]);
}

std::unique_ptr<Kernel> make_cast(const ops::Cast& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements();
  if (specs.inputs[0].dtype == DType::kInt32) {
    return stream_kernel([count](Stream& stream, const KernelArgs& args) {
      launch(stream, blocks_for(count), kBlock, 0, to_floats, count, input<std::int32_t>(args, 0),
             output<float>(args, 0));
    });
  }
  return for_float_type(op, specs.inputs[0].dtype, [&]<class From>(From) {
    return for_float_type(op, op.to, [&]<class To>(To) { return make_cast_of<From, To>(count); });
  });
}

}  // namespace

void add_elementwise_kernels(KernelRegistry& registry) {
  registry.add<ops::Activation>(make_activation);
  registry.add<ops::ActivationGradient>(make_activation_gradient);
  registry.add<ops::AddN>(make_add_n);
  registry.add<ReluGradientOfSum>(make_relu_gradient_of_sum);
  registry.add<ops::Cast>(make_cast);
}

}  // namespace mirrortrain::cuda
