#include "model/formula/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace mirrortrain::formula {
namespace {

constexpr std::size_t kMostCharacters = 10'000, kMostNodes = 1'000;
constexpr int kMostDepth = 64;

/// Operators of one precedence, in the order in which they are looked for.
constexpr auto kComparisons = std::to_array<std::string_view>({"<=", ">=", "==", "!=", "<", ">"});

std::size_t size_of(const Expression& tree) {
  std::size_t size = 1;
  for (const Expression& argument : tree.arguments) size += size_of(argument);
  return size;
}

}  // namespace

Expression Parser::run() {
  if (text_.size() > kMostCharacters) {
    throw Error(fmt::format("expected a formula of at most {} characters, found {}", kMostCharacters, text_.size()));
  }
  skip_spaces();
  if (at_end()) throw Error("expected a formula, found an empty text");
  Expression all = disjunction();
  if (!at_end()) fail_at_rest();
  return all;
}

Parser::Level::Level(Parser& parser) : parser_(parser) {
  if (++parser_.depth_ > kMostDepth) parser_.fail(parser_.at_, fmt::format("more than {} levels", kMostDepth));
}

void Parser::fail_at_rest() const {
  if (next_is(")")) fail(at_, "there is no '(' for this ')'");
  if (next_is("]")) fail(at_, "there is no '[' for this ']'");
  fail_at_foreign_operator();
  if (next_is(",")) fail(at_, "expected one formula, found another after a comma");
  fail(at_, fmt::format("expected an operator or the end, found {}", found()));
}

Expression Parser::node(Expression made) {
  if (++nodes_ > kMostNodes) fail(made.at, fmt::format("more than {} operations and operands", kMostNodes));
  return made;
}

Expression Parser::call(std::size_t at, std::string_view name, std::vector<Expression> arguments) {
  Expression made;
  made.kind = Expression::Kind::kCall;
  made.at = at;
  made.name = name;
  made.arguments = std::move(arguments);
  return node(std::move(made));
}

Expression Parser::number(std::size_t at, double value) {
  Expression made;
  made.at = at;
  made.number = value;
  return node(std::move(made));
}

Expression Parser::both(std::size_t at, std::string_view name, Expression a, Expression b) {
  std::vector<Expression> arguments;
  arguments.push_back(std::move(a));
  arguments.push_back(std::move(b));
  return call(at, name, std::move(arguments));
}

Expression Parser::disjunction() {
  const Level level(*this);
  Expression all = conjunction();
  for (std::size_t at = at_; take_word("or"); at = at_) all = both(at, "or", std::move(all), conjunction());
  return all;
}

Expression Parser::conjunction() {
  Expression all = negation();
  for (std::size_t at = at_; take_word("and"); at = at_) all = both(at, "and", std::move(all), negation());
  return all;
}

Expression Parser::negation() {
  const Level level(*this);
  const std::size_t at = at_;
  if (take_word("not")) {
    std::vector<Expression> of;
    of.push_back(negation());
    return call(at, "not", std::move(of));
  }
  return comparison();
}

Expression Parser::comparison() {
  Expression left = sum();
  std::optional<Expression> all;
  while (true) {
    const std::size_t at = at_;
    const auto symbol = std::ranges::find_if(kComparisons, [&](std::string_view one) { return take(one); });
    if (symbol == kComparisons.end()) break;
    Expression right = sum();
    const bool is_swapped = *symbol == ">" || *symbol == ">=";
    const std::string_view name = *symbol == ">" ? "<" : *symbol == ">=" ? "<=" : *symbol;
    nodes_ += size_of(right);  // a chain has it twice
    Expression one = is_swapped ? both(at, name, right, std::move(left)) : both(at, name, std::move(left), right);
    all = all ? both(at, "and", std::move(*all), std::move(one)) : std::move(one);
    left = std::move(right);
  }
  return all ? std::move(*all) : std::move(left);
}

Expression Parser::sum() {
  Expression all = product();
  while (true) {
    const std::size_t at = at_;
    const std::string_view symbol = next_is("+") ? "+" : "-";
    if (!take(symbol)) return all;
    all = both(at, symbol, std::move(all), product());
  }
}

Expression Parser::product() {
  Expression all = factor();
  while (true) {
    const std::size_t at = at_;
    if (next_is("**") || next_is("//")) return all;  // a misplaced power; a division that does not exist
    if (take("@")) {
      all = both(at, "matmul", std::move(all), factor());
      continue;
    }
    const std::string_view symbol = next_is("*") ? "*" : "/";
    if (!take(symbol)) return all;
    all = both(at, symbol, std::move(all), factor());
  }
}

Expression Parser::factor() {
  const Level level(*this);
  const std::size_t at = at_;
  if (take("+")) return factor();
  if (next_is("-")) {
    take("-");
    Expression of = factor();
    if (of.kind == Expression::Kind::kNumber) return number(at, -of.number);
    std::vector<Expression> arguments;
    arguments.push_back(std::move(of));
    return call(at, "negative", std::move(arguments));
  }
  return power();
}

Expression Parser::power() {
  Expression base = indexed();
  const std::size_t at = at_;
  if (!take("**")) return base;
  return both(at, "**", std::move(base), factor());
}

}  // namespace mirrortrain::formula
