#include "kernels/cpu/dense_pairs.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/paired_weight.h"
#include "kernels/cpu/parallel.h"

namespace mirrortrain::cpu::dense_pairs {
namespace {

/// Rows whose sums are in the first-level cache together, and pairs of a panel that stay in the second-level cache from
/// one of these rows to the next.
constexpr std::int64_t kRows = 48, kPairs = 1024;

/// c [rows, columns] = a [rows, inner] times a weight in pairs of its inner dimension.
class Product {
 public:
  Product(std::int64_t rows, std::int64_t inner, std::int64_t columns, int threads)
      : rows_(rows), pairs_(inner / 2), columns_(columns), threads_(threads) {}

  /// Calls end(row, rows, column, columns, sums) for blocks of the result, whose rows are kPairPanel apart.
  template <class End>
  void run(const bfloat16* a, const std::byte* weight, const End& end) const {
    const std::int64_t panels = (columns_ + kPairPanel - 1) / kPairPanel;
    const bool by_panels = panels >= threads_;
    parallel_for(threads_, by_panels ? panels : rows_, by_panels ? 1 : kRows,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t panel = by_panels ? first : 0; panel < (by_panels ? last : panels); ++panel) {
                     const Pair* const b = reinterpret_cast<const Pair*>(weight) + panel * kPairPanel * pairs_;
                     const std::int64_t column = panel * kPairPanel, columns = std::min(kPairPanel, columns_ - column);
                     const std::int64_t last_row = by_panels ? rows_ : last;
                     for (std::int64_t row = by_panels ? 0 : first; row < last_row; row += kRows) {
                       const std::int64_t rows = std::min(kRows, last_row - row);
                       alignas(64) float sums[kRows * kPairPanel];
                       add_up(a, b, row, rows, padded(columns), sums);
                       end(row, rows, column, columns, sums);
                     }
                   }
                 });
  }

 private:
  void add_up(const bfloat16* a, const Pair* b, std::int64_t row, std::int64_t rows, std::int64_t columns,
              float* sums) const {
    const Pair* const a_pairs = reinterpret_cast<const Pair*>(a) + row * pairs_;
    for (std::int64_t pair = 0; pair < pairs_; pair += kPairs) {
      multiply_pairs(rows, columns, std::min(kPairs, pairs_ - pair), {a_pairs + pair, pairs_, 1},
                     {b + pair * kPairPanel, kPairPanel}, {sums, kPairPanel}, pair > 0);
    }
  }

  std::int64_t rows_, pairs_, columns_;
  int threads_;
};

class Forward : public Kernel {
 public:
  Forward(const ops::Dense& op, std::int64_t rows, std::int64_t in, std::int64_t out, int threads)
      : activation_(op.activation), in_(in), out_(out), threads_(threads), product_(rows, in, out, threads) {}

  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    return input == 1 ? std::optional(paired_form(PairForm::kOfRows, in_, out_, threads_)) : std::nullopt;
  }

  void enqueue(Stream&, const KernelArgs& args) override {
    const auto* const bias = input<float>(args, 2);
    auto* const y = output<bfloat16>(args, 0);
    const bool with_relu = activation_ == ops::ActivationKind::kRelu;
    product_.run(input<bfloat16>(args, 0), args.inputs[1].data,
                 [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, float* sums) {
                   for (std::int64_t r = 0; r < rows; ++r) {
                     float* const of_row = sums + r * kPairPanel;
                     for (std::int64_t i = 0; bias != nullptr && i < columns; ++i) of_row[i] += bias[column + i];
                     for (std::int64_t i = 0; with_relu && i < columns; ++i) of_row[i] = std::max(of_row[i], 0.0f);
                     round_to_bfloat16(columns, of_row, y + (row + r) * out_ + column);
                   }
                 });
    if (!with_relu) activate(activation_, args.outputs[0], threads_);
  }

 private:
  ops::ActivationKind activation_;
  std::int64_t in_, out_;
  int threads_;
  Product product_;
};

class InputGradient : public Kernel {
 public:
  InputGradient(std::int64_t rows, std::int64_t in, std::int64_t out, int threads)
      : in_(in), out_(out), threads_(threads), product_(rows, out, in, threads) {}

  std::optional<DerivedForm> derived_form(std::size_t input) const override {
    return input == 1 ? std::optional(paired_form(PairForm::kOfColumns, in_, out_, threads_)) : std::nullopt;
  }

  void enqueue(Stream&, const KernelArgs& args) override {
    auto* const dx = output<bfloat16>(args, 0);
    product_.run(input<bfloat16>(args, 0), args.inputs[1].data,
                 [&](std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, float* sums) {
                   for (std::int64_t r = 0; r < rows; ++r) {
                     round_to_bfloat16(columns, sums + r * kPairPanel, dx + (row + r) * in_ + column);
                   }
                 });
  }

 private:
  std::int64_t in_, out_;
  int threads_;
  Product product_;
};

bool serves(std::int64_t inner) { return multiplies_pairs() && inner % 2 == 0; }

std::int64_t rows_of(const TensorView& x) { return x.elements() / x.shape.back(); }

}  // namespace

std::unique_ptr<Kernel> make_forward(const ops::Dense& op, const KernelSpecs& specs) {
  const TensorView &x = specs.inputs[0], &y = specs.outputs[0];
  if (!serves(x.shape.back())) return nullptr;
  return std::make_unique<Forward>(op, rows_of(x), x.shape.back(), y.shape.back(), specs.threads);
}

std::unique_ptr<Kernel> make_input_gradient(const KernelSpecs& specs) {
  const TensorView &dy = specs.inputs[0], &dx = specs.outputs[0];
  if (!serves(dy.shape.back())) return nullptr;
  return std::make_unique<InputGradient>(rows_of(dy), dx.shape.back(), dy.shape.back(), specs.threads);
}

}  // namespace mirrortrain::cpu::dense_pairs
