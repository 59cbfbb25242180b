#include "graph/ops/loss.h"

#include <limits>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/row.h"
#include "kernels/scalar/losses.h"

namespace mirrortrain::cpu {
namespace {

// Each of these is the loss of one position: operator()(y, targets, dy, classes, scale) returns it and, unless dy is
// null, stores its gradient times scale.

/// The mean of a term per element.
template <class Term>
struct MeanOfTerms {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  Term term;

  double operator()(const float* y, const float* t, float* dy, std::int64_t classes, float scale) const {
    double sum = 0;
    if (dy == nullptr) {
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < classes; ++i) sum += static_cast<double>(term(y[i], t[i]).value);
    } else {
      const float share = scale / static_cast<float>(classes);
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < classes; ++i) {
        const scalar::LossTerm one = term(y[i], t[i]);
        sum += static_cast<double>(one.value);
        dy[i] = share * one.slope;
      }
    }
    return sum / static_cast<double>(classes);
  }
};

struct Exponentials {
  float largest, sum;
};

/// The sum of e^(y - largest); the terms go to `to` unless it is null.
Exponentials exponentials(const float* y, float* to, std::int64_t classes) {
  const float largest = largest_of_row(y, classes);
  const float sum = sum_over(classes, [&](std::int64_t i, auto part) {
    const Vec term = fill_rest(scalar::exp<Vec>(get(y + i, part) - largest), 0.0f, part);
    if (to != nullptr) put(to + i, term, part);
    return term;
  });
  return {largest, sum};
}

struct SparseOfLogits {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;

  double operator()(const float* y, const std::int32_t* label, float* dy, std::int64_t classes, float scale) const {
    const auto [largest, sum] = exponentials(y, dy, classes);
    const bool known = *label >= 0 && *label < classes;
    if (dy != nullptr) {
      const float share = scale / sum;
      each_vector(classes, [&](std::int64_t i, auto part) { put(dy + i, get(dy + i, part) * share, part); });
      if (known) dy[*label] -= scale;
    }
    if (!known) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(scalar::log(sum)) + (static_cast<double>(largest) - static_cast<double>(y[*label]));
  }
};

/// Of probabilities, which are clipped and then divided by their sum.
struct Sparse {
  using Target = std::int32_t;
  static constexpr bool kTargetPerClass = false;

  double operator()(const float* y, const std::int32_t* label, float* dy, std::int64_t classes, float scale) const {
    if (*label < 0 || *label >= classes) {
      if (dy != nullptr) std::fill(dy, dy + classes, 0.0f);
      return std::numeric_limits<double>::quiet_NaN();
    }
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < classes; ++i) sum += scalar::clipped(y[i]).value;
    const auto [p, inside] = scalar::clipped(y[*label]);
    if (dy != nullptr) {
      const float share = scale / sum;
      for (std::int64_t i = 0; i < classes; ++i) dy[i] = scalar::clipped(y[i]).inside ? share : 0.0f;
      if (inside) dy[*label] -= scale / p;
    }
    return -static_cast<double>(scalar::log(p / sum));
  }
};

struct CategoricalOfLogits {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  float smoothing;

  double operator()(const float* y, const float* t, float* dy, std::int64_t classes, float scale) const {
    const auto [largest, sum] = exponentials(y, dy, classes);
    const float log_sum = scalar::log(sum), count = static_cast<float>(classes);
    double loss = 0, weight = 0;
#pragma omp simd reduction(+ : loss, weight)
    for (std::int64_t i = 0; i < classes; ++i) {
      const float target = scalar::smoothed_class(t[i], smoothing, count);
      loss += static_cast<double>(target * (log_sum + (largest - y[i])));
      weight += static_cast<double>(target);
    }
    if (dy != nullptr) {
      const float share = static_cast<float>(weight) / sum;
      for (std::int64_t i = 0; i < classes; ++i) {
        dy[i] = scale * (dy[i] * share - scalar::smoothed_class(t[i], smoothing, count));
      }
    }
    return loss;
  }
};

/// Of probabilities, which are divided by their sum and then clipped.
struct Categorical {
  using Target = float;
  static constexpr bool kTargetPerClass = true;
  float smoothing;

  double operator()(const float* y, const float* t, float* dy, std::int64_t classes, float scale) const {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < classes; ++i) sum += y[i];
    const float inverse = 1.0f / sum, count = static_cast<float>(classes);
    double loss = 0;
#pragma omp simd reduction(+ : loss)
    for (std::int64_t i = 0; i < classes; ++i) {
      const float target = scalar::smoothed_class(t[i], smoothing, count);
      loss -= static_cast<double>(target * scalar::log(scalar::clipped(y[i] * inverse).value));
    }
    if (dy != nullptr) store_gradient(y, t, dy, classes, inverse, scale);
    return loss;
  }

  /// With p = y / sum: dy = (dp - sum(dp p)) / sum.
  void store_gradient(const float* y, const float* t, float* dy, std::int64_t classes, float inverse,
                      float scale) const {
    const float count = static_cast<float>(classes);
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::int64_t i = 0; i < classes; ++i) {
      const auto [p, inside] = scalar::clipped(y[i] * inverse);
      const float target = scalar::smoothed_class(t[i], smoothing, count);
      dy[i] = inside ? -target / p : 0.0f;
      dot += inside ? -target : 0.0f;
    }
    for (std::int64_t i = 0; i < classes; ++i) dy[i] = scale * inverse * (dy[i] - dot);
  }
};

/// Losses of the rows go to the workspace first, so that their sum does not depend on the threads.
template <class Position>
std::unique_ptr<Kernel> make_kernel(const Position& position, const KernelSpecs& specs) {
  const Shape& shape = specs.inputs[0].shape;
  const std::int64_t rows = shape[0], classes = shape.back();
  const std::int64_t positions = rows == 0 || classes == 0 ? 0 : specs.inputs[0].elements() / rows / classes;
  const std::int64_t targets = Position::kTargetPerClass ? classes : 1;
  const auto body = [=, threads = specs.threads](const KernelArgs& args) {
    const float* y = input<float>(args, 0);
    const auto* t = input<typename Position::Target>(args, 1);
    float* dy = output<float>(args, 1);
    auto* row_losses = reinterpret_cast<double*>(args.workspace);
    const float scale = static_cast<float>(
        1.0 / static_cast<double>(args.step->global_examples * std::max<std::int64_t>(1, positions)));
    parallel_for(threads, rows, rows_per_thread(positions * classes), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        double loss = 0;
        for (std::int64_t i = row * positions; i < (row + 1) * positions; ++i) {
          loss +=
              position(y + i * classes, t + i * targets, dy == nullptr ? nullptr : dy + i * classes, classes, scale);
        }
        row_losses[row] = loss / static_cast<double>(positions);
      }
    });
    double sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += row_losses[row];
    if (double* total = output<double>(args, 0)) *total = sum;
  };
  return loop_kernel(body, static_cast<std::size_t>(rows) * sizeof(double));
}

std::unique_ptr<Kernel> make_loss(const ops::Loss& op, const KernelSpecs& specs) {
  switch (op.kind) {
    case ops::LossKind::kMeanSquaredError: break;
    case ops::LossKind::kBinaryCrossentropy:
      if (op.from_logits) {
        return make_kernel(MeanOfTerms<scalar::BinaryCrossentropyOfLogits>{{op.label_smoothing}}, specs);
      }
      return make_kernel(MeanOfTerms<scalar::BinaryCrossentropy>{{op.label_smoothing}}, specs);
    case ops::LossKind::kCategoricalCrossentropy:
      if (op.from_logits) return make_kernel(CategoricalOfLogits{op.label_smoothing}, specs);
      return make_kernel(Categorical{op.label_smoothing}, specs);
    case ops::LossKind::kSparseCategoricalCrossentropy:
      if (op.from_logits) return make_kernel(SparseOfLogits{}, specs);
      return make_kernel(Sparse{}, specs);
  }
  return make_kernel(MeanOfTerms<scalar::SquaredError>{}, specs);
}

}  // namespace

void add_loss_kernels(KernelRegistry& registry) { registry.add<ops::Loss>(make_loss); }

}  // namespace mirrortrain::cpu
