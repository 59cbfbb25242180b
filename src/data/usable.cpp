#include "data/usable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/example_source.h"
#include "data/in_threads.h"
#include "data/kept_findings.h"
#include "data/row_blocks.h"
#include "data/wrong_numbers.h"

namespace mirrortrain::data {
namespace {

using Faults = std::vector<std::pair<std::int64_t, std::string>>;

/// Returns nothing if the cached findings are unusable.
std::optional<Faults> known_faults(const std::string& identity, std::int64_t rows) {
  const std::optional<nlohmann::json> kept = kept_finding("pictures", identity);
  if (!kept) return std::nullopt;
  try {
    if (kept->at("pictures") != rows) return std::nullopt;
    auto faults = kept->at("bad").get<Faults>();
    const auto is_wrong = [&](const auto& one) { return one.first < 0 || one.first >= rows; };
    if (std::ranges::any_of(faults, is_wrong) || !std::ranges::is_sorted(faults)) return std::nullopt;
    return faults;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

Faults decode_all(const ExampleSource& source, std::int64_t rows, int threads) {
  constexpr std::int64_t kTogether = 16;
  std::mutex mutex;
  Faults faults;
  in_threads(static_cast<std::size_t>((rows + kTogether - 1) / kTogether), threads, [&](std::size_t i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * kTogether;
    for (std::int64_t row = first; row < std::min(first + kTogether, rows); ++row) {
      std::optional<std::string> fault = source.fault(row);
      if (!fault) continue;
      const std::lock_guard lock(mutex);
      faults.emplace_back(row, *std::move(fault));
    }
  });
  std::ranges::sort(faults);
  return faults;
}

/// The rows of a source for which no features can be computed, ascending, with the reason. Decodes all of them, in
/// `threads` threads; the result is cached in the user's cache folder for the same files.
std::vector<std::pair<std::int64_t, std::string>> undecodable(const ExampleSource& source, std::int64_t rows,
                                                              int threads) {
  const std::string identity = source.identity();
  if (auto known = known_faults(identity, rows)) return *std::move(known);
  Faults faults = decode_all(source, rows, threads);
  if (source.identity() == identity) {  // otherwise the files changed meanwhile
    keep_finding("pictures", identity, {{"pictures", rows}, {"bad", faults}});
  }
  return faults;
}

/// Removes bad examples, one kind after the other.
class Sieve {
 public:
  Sieve(Examples& examples, BadExamples& bad) : examples_(examples), bad_(bad) {}

  void add(std::int64_t row, std::string_view reason) {
    bad_.add(examples_.outputs.front().array.row_in_files(row), reason);
    rows_.push_back(row);
  }
  void leave_out() {
    if (!rows_.empty()) keep_rows(examples_, rows_but(examples_.rows(), rows_));
    rows_.clear();
  }
  void leave_out(std::vector<std::int64_t> rows) {
    rows_ = std::move(rows);
    leave_out();
  }

 private:
  Examples& examples_;
  BadExamples& bad_;
  std::vector<std::int64_t> rows_;
};

void leave_out_not_finite(const Array& array, Sieve& sieve, const BadExamples& bad) {
  const auto add = [&](std::int64_t row) { sieve.add(row, bad.wants_reason() ? not_finite_text(array, row) : ""); };
  if (array.is_by_position()) {
    with_element_type(array.dtype, [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      if (std::is_integral_v<T> || find_not_finite(array) < 0) return;
      const auto width = static_cast<std::size_t>(array.row_elements());
      for_each_block<T>(array, 0, array.rows(), [&](std::int64_t row, std::span<const T> block) {
        for (; !block.empty(); block = block.subspan(width), ++row) {
          if (!std::ranges::all_of(block.first(width), fits_float<T>)) add(row);
        }
        return true;
      });
    });
    return sieve.leave_out();
  }
  for (std::int64_t row = find_not_finite(array); row >= 0;) {
    add(row);
    row = row + 1 < array.rows() ? find_not_finite(array, row + 1) : -1;
  }
  sieve.leave_out();
}

void leave_out_bad(Examples& examples, const Wanted& wanted, BadExamples& bad) {
  Sieve sieve(examples, bad);
  for (std::size_t i = 0; i < examples.outputs.size(); ++i) {
    leave_out_not_finite(examples.outputs[i].array, sieve, bad);
    sieve.leave_out(rows_with_wrong_labels(examples.outputs[i], i, wanted, bad));
  }
  for (std::size_t i = 0; i < examples.inputs.size(); ++i) {
    const Features& input = examples.inputs[i];
    if (input.source) {
      for (const auto& [row, reason] : undecodable(*input.source, examples.rows(), bad.threads())) {
        sieve.add(row, reason);
      }
    } else {
      leave_out_not_finite(input.array, sieve, bad);
      if (wanted.spec == nullptr) continue;
      for (const auto& [row, message] : wrong_features(input.array, wanted.spec->inputs[i])) {
        sieve.add(row, fmt::format("{}: {}", input.array.row_text(row), message));
      }
    }
    sieve.leave_out();
  }
}

}  // namespace

namespace {

template <class Field, class Spec>
void arrange(std::vector<Field>& fields, const std::vector<Spec>& specs) {
  if (fields.size() == 1 && specs.size() == 1 && fields.front().name.empty()) return;
  std::vector<Field> arranged;
  for (const Spec& spec : specs) {
    const auto found = std::ranges::find(fields, spec.name, &Field::name);
    if (found == fields.end()) throw Error(fmt::format("the data have nothing for '{}'", spec.name));
    arranged.push_back(std::move(*found));
  }
  fields = std::move(arranged);
}

}  // namespace

void arrange(Examples& examples, const ExampleSpec& spec) {
  arrange(examples.inputs, spec.inputs);
  arrange(examples.outputs, spec.labels);
}

std::vector<std::int64_t> rows_but(std::int64_t rows, const std::vector<std::int64_t>& bad) {
  std::vector<std::int64_t> kept;
  auto next = bad.begin();
  for (std::int64_t row = 0; row < rows; ++row) {
    if (next != bad.end() && *next == row) {
      ++next;
    } else {
      kept.push_back(row);
    }
  }
  return kept;
}

std::vector<std::int64_t> rows_with_wrong_labels(const Labels& labels, std::size_t output, const Wanted& wanted,
                                                 BadExamples& bad) {
  std::vector<std::int64_t> rows;
  if (wanted.spec == nullptr) return rows;
  for (const auto& [row, message] : wrong_labels(labels, output, wanted)) {
    bad.add(labels.array.row_in_files(row), fmt::format("{}: {}", labels.array.row_text(row), message));
    rows.push_back(row);
  }
  return rows;
}

Dataset usable(Examples examples, const Wanted& wanted, BadExamples bad) {
  if (wanted.spec != nullptr) arrange(examples, *wanted.spec);
  const auto is_whole = [&](const auto& field) {
    return field.array.rows() == examples.rows() && field.array.row_elements() > 0;
  };
  const bool is_of_rows =
      std::ranges::all_of(examples.inputs, is_whole) && std::ranges::all_of(examples.outputs, is_whole);
  if (bad.skips() && is_of_rows) leave_out_bad(examples, wanted, bad);
  if (bad.any()) {
    examples.left_out =
        std::make_shared<LeftOut>(std::move(bad).left_out(examples.rows(), examples.inputs.front().array.origin));
  }
  return Dataset(std::move(examples));
}

}  // namespace mirrortrain::data
