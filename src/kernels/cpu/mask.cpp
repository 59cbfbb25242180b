#include "graph/ops/mask.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_padding_mask(const ops::PaddingMask&, const KernelSpecs& specs) {
  return loop_kernel([count = specs.outputs[0].elements()](const KernelArgs& args) {
    std::transform(input<float>(args, 0), input<float>(args, 0) + count, output<float>(args, 0),
                   [](float number) { return number != 0 ? 1.0f : 0.0f; });
  });
}

std::unique_ptr<Kernel> make_label_mask(const ops::LabelMask& op, const KernelSpecs& specs) {
  return loop_kernel([count = specs.outputs[0].elements(), ignored = op.ignored](const KernelArgs& args) {
    std::transform(input<std::int32_t>(args, 0), input<std::int32_t>(args, 0) + count, output<float>(args, 0),
                   [ignored](std::int32_t label) { return label != ignored ? 1.0f : 0.0f; });
  });
}

std::unique_ptr<Kernel> make_full_mask(const ops::FullMask&, const KernelSpecs& specs) {
  return loop_kernel([count = specs.outputs[0].elements()](const KernelArgs& args) {
    std::fill_n(output<float>(args, 0), count, 1.0f);
  });
}

std::unique_ptr<Kernel> make_mask_count(const ops::MaskCount&, const KernelSpecs& specs) {
  return loop_kernel([count = specs.inputs[0].elements()](const KernelArgs& args) {
    const auto* const mask = input<float>(args, 0);
    *output<double>(args, 0) =
        static_cast<double>(std::count_if(mask, mask + count, [](float counts) { return counts != 0; }));
  });
}

/// Sequences of [steps, channels] with their masks.
struct Sequences {
  std::int64_t rows, steps, channels;
  int threads;

  /// `x` is [rows, steps, channels].
  Sequences(const Shape& x, int thread_count) : rows(x[0]), steps(x[1]), channels(x[2]), threads(thread_count) {}

  /// Calls body(row, 1 / its time steps that count) for every row.
  template <class Body>
  void each_row(const float* mask, const Body& body) const {
    parallel_for(threads, rows, rows_per_thread(steps * channels), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const auto counted =
            std::count_if(mask + row * steps, mask + (row + 1) * steps, [](float m) { return m != 0; });
        body(row, 1.0f / static_cast<float>(counted));
      }
    });
  }
};

std::unique_ptr<Kernel> make_masked_mean(const ops::MaskedMean& op, const KernelSpecs& specs) {
  const Sequences s(specs.inputs[0].shape, specs.threads);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([s](const KernelArgs& args) {
      const T* const x = input<T>(args, 0);
      const auto* const mask = input<float>(args, 1);
      T* const y = output<T>(args, 0);
      s.each_row(mask, [&](std::int64_t row, float share) {
        each_vector(s.channels, [&](std::int64_t c, auto part) {
          Vec sum{};
          for (std::int64_t step = row * s.steps; step < (row + 1) * s.steps; ++step) {
            if (mask[step] != 0) sum += get(x + step * s.channels + c, part);
          }
          put(y + row * s.channels + c, sum * share, part);
        });
      });
    });
  });
}

std::unique_ptr<Kernel> make_masked_mean_gradient(const ops::MaskedMeanGradient& op, const KernelSpecs& specs) {
  const Sequences s(specs.outputs[0].shape, specs.threads);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([s](const KernelArgs& args) {
      const T* const dy = input<T>(args, 0);
      const auto* const mask = input<float>(args, 1);
      T* const dx = output<T>(args, 0);
      s.each_row(mask, [&](std::int64_t row, float share) {
        for (std::int64_t step = row * s.steps; step < (row + 1) * s.steps; ++step) {
          each_vector(s.channels, [&](std::int64_t c, auto part) {
            const Vec value = mask[step] != 0 ? get(dy + row * s.channels + c, part) * share : Vec{};
            put(dx + step * s.channels + c, value, part);
          });
        }
      });
    });
  });
}

std::unique_ptr<Kernel> make_select(const ops::Select& op, const KernelSpecs& specs) {
  const TensorView& made = specs.outputs[0];
  const std::int64_t channels = made.shape.back(), steps = specs.inputs[0].elements();
  return for_float_type(op, made.dtype, [&]<class T>(T) {
    return loop_kernel([channels, steps, threads = specs.threads, fill = T(op.fill)](const KernelArgs& args) {
      const auto* const mask = input<float>(args, 0);
      const T *const counted = input<T>(args, 1), *const other = input<T>(args, 2);
      T* const y = output<T>(args, 0);
      parallel_for(threads, steps, rows_per_thread(channels), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t step = begin; step < end; ++step) {
          const T* const from = mask[step] != 0 ? counted : other;
          if (from != nullptr) {
            std::copy_n(from + step * channels, channels, y + step * channels);
          } else {
            std::fill_n(y + step * channels, channels, fill);
          }
        }
      });
    });
  });
}

}  // namespace

void add_mask_kernels(KernelRegistry& registry) {
  registry.add<ops::PaddingMask>(make_padding_mask);
  registry.add<ops::LabelMask>(make_label_mask);
  registry.add<ops::FullMask>(make_full_mask);
  registry.add<ops::MaskCount>(make_mask_count);
  registry.add<ops::MaskedMean>(make_masked_mean);
  registry.add<ops::MaskedMeanGradient>(make_masked_mean_gradient);
  registry.add<ops::Select>(make_select);
}

}  // namespace mirrortrain::cpu
