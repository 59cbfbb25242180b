// The values of a formula: numbers, names, what is in parentheses, and indices behind them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "model/formula/parser.h"

namespace mirrortrain::formula {

Expression Parser::indexed() {
  const std::size_t start = at_;
  Expression of = primary();
  while (true) {
    const std::size_t at = at_;
    if (next_is(".")) fail_at_dot(start);
    if (!take("[")) return of;
    Expression made;
    made.kind = Expression::Kind::kIndex;
    made.at = at;
    made.arguments.push_back(std::move(of));
    made.indices = indices();
    of = node(std::move(made));
  }
}

std::vector<Index> Parser::indices() {
  std::vector<Index> all;
  do {
    all.push_back(index());
  } while (take(",") && !next_is("]"));
  expect("]");
  return all;
}

Index Parser::index() {
  Index made;
  made.at = at_;
  if (take("...")) {
    made.kind = Index::Kind::kEllipsis;
  } else if (take_word("None")) {
    made.kind = Index::Kind::kNewAxis;
  } else {
    if (!next_is(":")) made.first = whole_number();
    if (take(":")) {
      made.kind = Index::Kind::kRange;
      if (!next_is(",") && !next_is("]") && !next_is(":")) made.last = whole_number();
      if (next_is(":")) fail(at_, "a range has no step");
    }
  }
  return made;
}

std::int64_t Parser::whole_number() {
  const std::size_t at = at_;
  const bool is_negative = take("-");
  std::int64_t value = 0;
  const char* const first = text_.data() + at_;
  const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
  if (end == first || !is_digit(*first)) fail(at, fmt::format("expected a whole number, found {}", found()));
  if (error != std::errc() || value > 1'000'000'000) fail(at, "a number this large is no place on an axis");
  at_ += static_cast<std::size_t>(end - first);
  if (next_is(".") && !next_is("...")) fail(at, "expected a whole number, found a fraction");
  skip_spaces();
  return is_negative ? -value : value;
}

Expression Parser::primary() {
  if (at_end()) fail(at_, "expected a value, found the end");
  const std::size_t at = at_;
  if (take("(")) {
    Expression inside = disjunction();
    if (next_is(",")) fail(at_, "expected ')', found ','; there are no tuples");
    expect(")");
    return inside;
  }
  const char c = text_[at_];
  if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return literal();
  if (starts_name(c)) return named();
  if (c == '\'' || c == '"') fail(at, "there are no texts in a formula");
  if (c == '!' || c == '~') fail(at, "'not' is written as a word");
  if (c == ')') fail(at, "expected a value, found ')'");
  fail(at, fmt::format("expected a value, found {}", found()));
}

Expression Parser::literal() {
  const std::size_t at = at_;
  double value = 0;
  const char* const first = text_.data() + at_;
  const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
  if (error != std::errc() || value > std::numeric_limits<float>::max()) {
    fail(at, "this number is larger or smaller than those of float32");
  }
  at_ += static_cast<std::size_t>(end - first);
  if (!at_end() && continues_name(text_[at_])) {
    fail(at_, fmt::format("expected an operator after the number, found {}; a product is written 2 * x", found()));
  }
  skip_spaces();
  return number(at, value);
}

Expression Parser::named() {
  const std::size_t at = at_;
  while (!at_end() && continues_name(text_[at_])) ++at_;
  const std::string name(text_.substr(at, at_ - at));
  skip_spaces();
  if (next_is("(")) return arguments_of(at, name);
  if (const auto constant = std::ranges::find(kConstants, name, &Constant::name); constant != kConstants.end()) {
    return number(at, constant->value);
  }
  if (std::ranges::find(kKeywords, name) != kKeywords.end()) {
    fail(at, fmt::format("expected a value, found '{}'", name));
  }
  Expression made;
  made.kind = Expression::Kind::kName;
  made.at = at;
  made.name = name;
  return node(std::move(made));
}

}  // namespace mirrortrain::formula
