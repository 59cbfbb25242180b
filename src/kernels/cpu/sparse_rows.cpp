#include "kernels/cpu/sparse_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "base/bfloat16.h"
#include "kernels/cpu/apply_rule.h"
#include "kernels/cpu/parallel.h"
#include "kernels/scalar/embedding.h"

namespace mirrortrain::cpu {
namespace {

/// Rows of a table that a thread updates at least.
constexpr std::int64_t kRowsPerThread = 64;

/// sum += dy's row `position`.
void add_row(const Lookups& lookups, std::int64_t position, std::int64_t width, float* __restrict sum) {
  const auto add = [&]<class T>(const T* dy) {
    for (std::int64_t k = 0; k < width; ++k) sum[k] += static_cast<float>(dy[k]);
  };
  const std::int64_t first = position * width;
  if (lookups.dtype == DType::kBfloat16) return add(reinterpret_cast<const bfloat16*>(lookups.dy) + first);
  add(reinterpret_cast<const float*>(lookups.dy) + first);
}

/// Walks through the rows that any of several gradients has, in ascending order, from `begin` on.
class MergedRows {
 public:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  MergedRows(std::span<const SparseRows> gradients, std::int64_t width, std::int64_t begin)
      : gradients_(gradients), width_(width) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const SparseRows& of = gradients[i];
      // A replica without examples has a scale of 0.
      const std::int64_t count = of.scale() == 0 ? 0 : of.count();
      ends_[i] = count;
      next_[i] = std::lower_bound(of.numbers, of.numbers + count, static_cast<float>(begin)) - of.numbers;
    }
    find();
  }

  /// The current row; kNone after the last.
  std::int64_t row() const { return row_; }

  /// gradient += the scaled sum of the current row's columns.
  void add(std::int64_t column, std::int64_t columns, float* __restrict gradient) const {
    for_each_at_row([&](std::size_t i) {
      const float* __restrict values = gradients_[i].values + next_[i] * width_ + column;
      const float scale = gradients_[i].scale();
      for (std::int64_t k = 0; k < columns; ++k) gradient[k] += scale * values[k];
    });
  }

  void advance() {
    for_each_at_row([this](std::size_t i) { ++next_[i]; });
    find();
  }

 private:
  std::int64_t row_of(std::size_t i) const {
    return next_[i] < ends_[i] ? static_cast<std::int64_t>(gradients_[i].numbers[next_[i]]) : kNone;
  }
  template <class Body>
  void for_each_at_row(const Body& body) const {
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (row_of(i) == row_) body(i);
    }
  }
  void find() {
    row_ = kNone;
    for (std::size_t i = 0; i < gradients_.size(); ++i) row_ = std::min(row_, row_of(i));
  }

  std::span<const SparseRows> gradients_;
  std::int64_t width_, row_ = kNone;
  std::array<std::int64_t, kMostSparseRows> next_{}, ends_{};
};

/// Whether the rule leaves a weight whose gradient is 0, and its slots, as they are.
template <class Rule>
bool skips_zeros(const scalar::RuleAtStep<Rule>& at, const UpdateGroupView& group) {
  if constexpr (requires { at.rule.ignores_zeros(); }) {
    return at.kept == 1 && group.average == nullptr && at.rule.ignores_zeros();
  }
  return false;
}

/// A table's update by one thread.
template <class Rule>
class SparseUpdate {
 public:
  SparseUpdate(const scalar::RuleAtStep<Rule>& at, const UpdateGroupView& group, const TableWeight& table)
      : at_(at), group_(group), table_(table) {}

  /// The rows that have a gradient, of [begin, end).
  void update_rows(MergedRows& rows, std::int64_t end) {
    for (; rows.row() < end; rows.advance()) update_row(rows, rows.row());
  }

  /// All rows [begin, end).
  void update_all(MergedRows& rows, std::int64_t begin, std::int64_t end) {
    const std::int64_t together = kUpdateChunk / table_.width;
    if (together == 0) {
      for (std::int64_t row = begin; row < end; ++row) {
        update_row(rows, row);
        if (rows.row() == row) rows.advance();
      }
      return;
    }
    for (std::int64_t first = begin; first < end; first += together) {
      const std::int64_t last = std::min(end, first + together), count = (last - first) * table_.width;
      std::fill_n(gradient_.data(), count, 0.0f);
      for (; rows.row() < last; rows.advance()) {
        rows.add(0, table_.width, gradient_.data() + (rows.row() - first) * table_.width);
      }
      apply(first * table_.width, count);
    }
  }

 private:
  void update_row(const MergedRows& rows, std::int64_t row) {
    for (std::int64_t column = 0; column < table_.width; column += kUpdateChunk) {
      const std::int64_t columns = std::min(kUpdateChunk, table_.width - column);
      std::fill_n(gradient_.data(), columns, 0.0f);
      if (rows.row() == row) rows.add(column, columns, gradient_.data());
      apply(row * table_.width + column, columns);
    }
  }

  void apply(std::int64_t element, std::int64_t count) {
    scale_and_clip(at_, count, gradient_.data());
    apply_rule(at_, group_, table_.first + element, count, gradient_.data());
  }

  const scalar::RuleAtStep<Rule>& at_;
  const UpdateGroupView& group_;
  const TableWeight& table_;
  alignas(64) std::array<float, kUpdateChunk> gradient_;
};

}  // namespace

void sum_lookups(std::span<const Lookups> lookups, const TableWeight& table, float scale,
                 std::span<std::uint64_t> scratch, std::span<float> row, const SparseRows& to) {
  // Keys that sort by row, then in the order of the lookups.
  std::size_t keys = 0;
  std::uint64_t position = 0;
  for (const Lookups& of : lookups) {
    for (std::int64_t i = 0; i < of.count; ++i, ++position) {
      const std::int64_t number = scalar::table_row(of.numbers[i], table.rows);
      if (number >= 0) scratch[keys++] = static_cast<std::uint64_t>(number) << 32 | position;
    }
  }
  std::sort(scratch.begin(), scratch.begin() + static_cast<std::ptrdiff_t>(keys));
  std::int64_t count = 0;
  for (std::size_t i = 0; i < keys;) {
    const std::uint64_t number = scratch[i] >> 32;
    float* const sum = to.values + count * table.width;
    std::fill_n(sum, table.width, 0.0f);
    std::int64_t first = 0;  // position of the current lookups'
    for (const Lookups& of : lookups) {
      const bool is_first = &of == lookups.data();
      float* const own = is_first ? sum : row.data();
      if (!is_first) std::fill_n(own, table.width, 0.0f);
      for (; i < keys && scratch[i] >> 32 == number; ++i) {
        const std::int64_t in_lookups = static_cast<std::int64_t>(scratch[i] & 0xffffffff) - first;
        if (in_lookups >= of.count) break;
        add_row(of, in_lookups, table.width, own);
      }
      for (std::int64_t k = 0; !is_first && k < table.width; ++k) sum[k] += own[k];
      first += of.count;
    }
    to.numbers[count++] = static_cast<float>(number);
  }
  to.head[0] = static_cast<float>(count);
  to.head[1] = scale;
}

void update_sparse(const UpdateRule& rule, const UpdateGroupView& group, const TableWeight& table,
                   std::span<const SparseRows> gradients, const StepParams& params, int threads, std::int64_t begin,
                   std::int64_t end) {
  with_rule_at_step(rule, group, params, [&]<class Rule>(const scalar::RuleAtStep<Rule>& at) {
    parallel_for(threads, end - begin, kRowsPerThread, [&](std::int64_t from, std::int64_t to) {
      MergedRows rows(gradients, table.width, begin + from);
      SparseUpdate<Rule> update(at, group, table);
      if (skips_zeros(at, group)) return update.update_rows(rows, begin + to);
      update.update_all(rows, begin + from, begin + to);
    });
  });
}

void merge_sparse(const TableWeight& table, std::span<const SparseRows> gradients, const SparseRows& to) {
  std::int64_t count = 0;
  for (MergedRows rows(gradients, table.width, 0); rows.row() != MergedRows::kNone; rows.advance()) {
    float* const sum = to.values + count * table.width;
    std::fill_n(sum, table.width, 0.0f);
    rows.add(0, table.width, sum);
    to.numbers[count++] = static_cast<float>(rows.row());
  }
  to.head[0] = static_cast<float>(count);
  to.head[1] = 1;
}

void store_sparse(const TableWeight& table, std::span<const SparseRows> gradients, bool zeros, float* gradient,
                  std::int64_t begin, std::int64_t end) {
  const std::int64_t from = std::max(begin - table.first, std::int64_t{0});  // elements of the table
  const std::int64_t to = std::min(end - table.first, table.rows * table.width);
  if (from >= to) return;
  const std::int64_t last = (to - 1) / table.width;
  for (MergedRows rows(gradients, table.width, from / table.width); rows.row() <= last; rows.advance()) {
    const std::int64_t first = rows.row() * table.width;
    const std::int64_t own = std::max(from, first), count = std::min(to, first + table.width) - own;
    float* const elements = gradient + table.first + own;
    std::fill_n(elements, count, 0.0f);
    if (!zeros) rows.add(own - first, count, elements);
  }
}

}  // namespace mirrortrain::cpu
