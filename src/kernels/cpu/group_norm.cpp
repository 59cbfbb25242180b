#include "graph/ops/group_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/simd_elements.h"
#include "kernels/scalar/group_norm.h"

namespace mirrortrain::cpu {
namespace {

using scalar::GroupNormShape;

/// Adds term(element, channel, part) over every vector of a group of a sample; `first` is the group's first channel.
template <class Term>
double sum_over(const GroupNormShape& s, std::int64_t sample, std::int64_t first, const Term& term) {
  double total = 0;
  for (std::int64_t cell = 0; cell < s.cells; ++cell) {
    const std::int64_t at = (sample * s.cells + cell) * s.channels + first;
    DoubleVec sum{};
    each_vector(s.width, [&](std::int64_t i, auto part) {
      sum += widened(fill_rest(term(at + i, first + i, part), 0.0f, part));
    });
    total += sum_of(sum);
  }
  return total;
}

template <class Body>
void for_vectors(const GroupNormShape& s, std::int64_t sample, std::int64_t first, const Body& body) {
  for (std::int64_t cell = 0; cell < s.cells; ++cell) {
    const std::int64_t at = (sample * s.cells + cell) * s.channels + first;
    each_vector(s.width, [&](std::int64_t i, auto part) { body(at + i, first + i, part); });
  }
}

/// `vector`'s elements, or `otherwise` where there is no vector.
template <class Part>
Vec channels_of(const float* vector, std::int64_t channel, float otherwise, Part part) {
  return vector == nullptr ? broadcast(otherwise) : get(vector + channel, part);
}

template <class T>
void normalize(const GroupNormShape& s, float epsilon, int threads, const KernelArgs& args) {
  const T* x = input<T>(args, 0);
  const float *gamma = input<float>(args, 1), *beta = input<float>(args, 2);
  T* y = output<T>(args, 0);
  float *means = output<float>(args, 1), *inverses = output<float>(args, 2);
  const auto count = static_cast<double>(s.together());
  parallel_for(threads, s.samples * s.groups, rows_per_thread(s.together()), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t sample = i / s.groups, first = i % s.groups * s.width;
      const double sum =
          sum_over(s, sample, first, [=](std::int64_t at, std::int64_t, auto part) { return get(x + at, part); });
      const auto mean = static_cast<float>(sum / count);
      const double squares = sum_over(s, sample, first, [=](std::int64_t at, std::int64_t, auto part) {
        const Vec deviation = get(x + at, part) - mean;
        return deviation * deviation;
      });
      const auto inverse = static_cast<float>(1 / std::sqrt(squares / count + static_cast<double>(epsilon)));
      if (means != nullptr) means[i] = mean;
      if (inverses != nullptr) inverses[i] = inverse;
      if (y == nullptr) continue;
      for_vectors(s, sample, first, [=](std::int64_t at, std::int64_t c, auto part) {
        const Vec scale = channels_of(gamma, c, 1, part) * inverse;
        put(y + at, (get(x + at, part) - mean) * scale + channels_of(beta, c, 0, part), part);
      });
    }
  });
}

std::unique_ptr<Kernel> make_group_norm(const ops::GroupNorm& op, const KernelSpecs& specs) {
  const GroupNormShape shape(op, specs.inputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([shape, epsilon = op.epsilon, threads = specs.threads](const KernelArgs& args) {
      normalize<T>(shape, epsilon, threads, args);
    });
  });
}

/// Samples are split into chunks independently of the threads, so the channels' sums are bitwise reproducible.
std::int64_t chunks_of(const GroupNormShape& s) { return std::clamp<std::int64_t>(s.samples, 1, 32); }

/// With d = (x - mean) inverse: dx = inverse (gamma dy - mean(gamma dy) - d mean(gamma dy d)), and the sums over
/// samples and cells of dy d for gamma, of dy for beta.
template <class T>
void add_chunk(const GroupNormShape& s, std::int64_t begin, std::int64_t end, const KernelArgs& args, double* sums) {
  const T *x = input<T>(args, 0), *dy = input<T>(args, 1);
  const float *gamma = input<float>(args, 2), *means = input<float>(args, 3), *inverses = input<float>(args, 4);
  T* dx = output<T>(args, 0);
  const auto count = static_cast<double>(s.together());
  std::fill(sums, sums + 2 * s.channels, 0.0);
  for (std::int64_t i = begin * s.groups; i < end * s.groups; ++i) {
    const std::int64_t sample = i / s.groups, first = i % s.groups * s.width;
    const float mean = means[i], inverse = inverses[i];
    double of_gradient = 0, along = 0;
    for_vectors(s, sample, first, [&](std::int64_t at, std::int64_t c, auto part) {
      const Vec gradient = get(dy + at, part), product = gradient * ((get(x + at, part) - mean) * inverse);
      for (std::size_t lane = 0; lane < elements_of(part); ++lane) {
        const std::int64_t channel = c + static_cast<std::int64_t>(lane);
        const double by = gamma == nullptr ? 1.0 : static_cast<double>(gamma[channel]);
        sums[channel] += static_cast<double>(product[lane]);
        sums[s.channels + channel] += static_cast<double>(gradient[lane]);
        along += by * static_cast<double>(product[lane]);
        of_gradient += by * static_cast<double>(gradient[lane]);
      }
    });
    if (dx == nullptr) continue;
    const auto middle = static_cast<float>(of_gradient / count), slope = static_cast<float>(along / count);
    for_vectors(s, sample, first, [=](std::int64_t at, std::int64_t c, auto part) {
      const Vec gradient = get(dy + at, part) * channels_of(gamma, c, 1, part);
      const Vec deviation = (get(x + at, part) - mean) * inverse;
      put(dx + at, (gradient - middle - deviation * slope) * inverse, part);
    });
  }
}

std::unique_ptr<Kernel> make_group_norm_gradient(const ops::GroupNormGradient& op, const KernelSpecs& specs) {
  const GroupNormShape shape(op, specs.inputs[0].shape);
  const std::int64_t chunks = chunks_of(shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=, threads = specs.threads](const KernelArgs& args) {
      auto* sums = reinterpret_cast<double*>(args.workspace);
      const std::int64_t elements = shape.samples * shape.cells * shape.channels;
      parallel_for(threads, chunks, rows_per_thread(elements / chunks), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t chunk = begin; chunk < end; ++chunk) {
          add_chunk<T>(shape, shape.samples * chunk / chunks, shape.samples * (chunk + 1) / chunks, args,
                       sums + chunk * 2 * shape.channels);
        }
      });
      for (const std::size_t i : {0, 1}) {
        float* to = output<float>(args, i + 1);
        if (to == nullptr) continue;
        for (std::int64_t c = 0; c < shape.channels; ++c) {
          double sum = 0;
          for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
            sum += sums[(2 * chunk + static_cast<std::int64_t>(i)) * shape.channels + c];
          }
          to[c] = static_cast<float>(sum);
        }
      }
    };
    return loop_kernel(body, static_cast<std::size_t>(chunks * 2 * shape.channels) * sizeof(double));
  });
}

}  // namespace

void add_group_norm_kernels(KernelRegistry& registry) {
  registry.add<ops::GroupNorm>(make_group_norm);
  registry.add<ops::GroupNormGradient>(make_group_norm_gradient);
}

}  // namespace mirrortrain::cpu
