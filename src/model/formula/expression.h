#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mirrortrain::formula {

/// A mistake in a formula. The message names its line and column, and shows the line with a caret below the place.
class FormulaError : public Error {
 public:
  /// `at`: the byte of the formula where the mistake is.
  FormulaError(std::string_view formula, std::size_t at, std::string_view message);
};

/// One item in brackets, as in x[..., 0, 1:3].
struct Index {
  enum class Kind : std::uint8_t { kNumber, kRange, kEllipsis, kNewAxis };
  Kind kind = Kind::kNumber;
  std::optional<std::int64_t> first, last;  ///< of a range; a number is `first`
  std::size_t at = 0;
};

/// A formula as a tree. Operators are calls: a + b is one of "+", -a of "negative", a chain of comparisons of "and".
struct Expression {
  enum class Kind : std::uint8_t { kNumber, kName, kCall, kIndex };
  Kind kind = Kind::kNumber;
  std::size_t at = 0;  ///< the byte of the formula where it, or its operator, is
  double number = 0;
  std::string name;  ///< of a value or of a function
  std::vector<Expression> arguments;
  std::optional<std::vector<std::int64_t>> axes;  ///< `axis=` of a call
  bool keeps_axes = false;                        ///< `keepdims=`
  std::vector<Index> indices;                     ///< of kIndex
};

/// Reads a formula in Python's syntax. Throws FormulaError. Length, depth and size are bounded.
Expression parse(std::string_view formula);

/// Whether a value of this name is read anywhere in the tree.
bool reads(const Expression& tree, std::string_view name);

/// Whether a word has a meaning of its own, so that no value can have it as a name: pi, sum, and, true.
bool is_reserved(std::string_view word);

/// The first mistake in its syntax; empty if there is none.
std::string syntax_mistake(std::string_view formula);

}  // namespace mirrortrain::formula
