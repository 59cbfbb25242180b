#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/codec.h"

namespace mirrortrain::data {

/// How unusable examples are handled.
enum class OnBadExample : std::uint8_t {
  kError,  ///< the first is an error
  kSkip,   ///< they are left out, before anything else is computed from the data set
};

/// The examples left out of a data set.
struct LeftOut {
  std::string origin;                    ///< of the data set
  std::int64_t examples = 0;             ///< total, including those left out
  std::vector<std::int64_t> rows;        ///< ascending, counted with all the others
  std::vector<std::string> reasons;      ///< each with file and row; only for the first ones
  std::vector<std::int64_t> of_reasons;  ///< the row of each reason

  std::int64_t count() const { return static_cast<std::int64_t>(rows.size()); }
  /// "3 of 500 examples in train.csv cannot be used and are skipped"
  std::string text() const;
};

/// None of a data set's examples can be used.
class NoneUsable : public Error {
 public:
  explicit NoneUsable(LeftOut left);
  const LeftOut& left_out() const { return left_; }

 private:
  LeftOut left_;
};

/// Collects bad examples while a data set is read.
class BadExamples {
 public:
  explicit BadExamples(OnBadExample what, int threads = 1) : skips_(what == OnBadExample::kSkip), threads_(threads) {}

  /// If false, the reader throws.
  bool skips() const { return skips_; }
  /// For readers: null if the first is an error.
  BadExamples* if_skips() { return skips_ ? this : nullptr; }
  bool any() const { return !rows_.empty(); }
  /// In the order in which they were added.
  const std::vector<std::int64_t>& rows() const { return rows_; }
  /// Whether `add` keeps a reason: formatting one that is not kept takes time.
  bool wants_reason() const { return listed_.size() < kListed; }
  /// `row`: counted with all the others. `reason`: empty if it is not known any more.
  void add(std::int64_t row, std::string_view reason);
  /// Number of threads that may search for bad examples.
  int threads() const { return threads_; }

  /// Throws NoneUsable, with the first reasons, if no example is left.
  LeftOut left_out(std::int64_t kept, const std::string& origin) &&;

 private:
  static constexpr std::size_t kListed = 100;
  bool skips_;
  int threads_;
  std::vector<std::int64_t> rows_;
  std::vector<std::pair<std::int64_t, std::string>> listed_;
};

}  // namespace mirrortrain::data

template <>
struct mirrortrain::config::EnumNames<mirrortrain::data::OnBadExample> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::data::OnBadExample>>({
      {"error", mirrortrain::data::OnBadExample::kError},
      {"skip", mirrortrain::data::OnBadExample::kSkip},
  });
};
