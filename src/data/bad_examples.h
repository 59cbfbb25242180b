#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/codec.h"

namespace mirrortrain::data {

/// What becomes of examples that cannot be used.
enum class OnBadExample : std::uint8_t {
  kError,  ///< the first ends the program
  kSkip,   ///< they are left out, before anything else is made of the data set
};

/// The examples that a data set was read without.
struct LeftOut {
  std::string origin;                ///< of the data set
  std::int64_t examples = 0;         ///< with those that were left out
  std::vector<std::int64_t> rows;    ///< ascending, as they count with all the others
  std::vector<std::string> reasons;  ///< each with file and row; of the first ones alone

  std::int64_t count() const { return static_cast<std::int64_t>(rows.size()); }
  /// "3 of 500 examples in train.csv cannot be used and are skipped"
  std::string text() const;
};

/// Gathers bad examples while a data set is read.
class BadExamples {
 public:
  explicit BadExamples(OnBadExample what, int threads = 1) : skips_(what == OnBadExample::kSkip), threads_(threads) {}

  /// Otherwise the reader throws.
  bool skips() const { return skips_; }
  /// For readers: null where the first is an error.
  BadExamples* if_skips() { return skips_ ? this : nullptr; }
  bool any() const { return !rows_.empty(); }
  /// Whether `add` keeps a reason: making one that nobody reads takes time.
  bool wants_reason() const { return listed_.size() < kListed; }
  /// `row`: as it counts with all the others.
  void add(std::int64_t row, std::string_view reason);
  /// That may look for them.
  int threads() const { return threads_; }

  /// Throws Error, with the first reasons, where no example is left.
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
