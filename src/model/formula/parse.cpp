#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "config/scalar.h"
#include "model/formula/expression.h"
#include "model/formula/functions.h"

namespace mirrortrain::formula {
namespace {

constexpr std::size_t kMostCharacters = 10'000, kMostNodes = 1'000;
constexpr int kMostDepth = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

/// Operators of one precedence, in the order in which they are looked for.
constexpr auto kComparisons = std::to_array<std::string_view>({"<=", ">=", "==", "!=", "<", ">"});

struct Constant {
  std::string_view name;
  double value;
};
constexpr auto kConstants =
    std::to_array<Constant>({{"pi", 3.14159265358979323846}, {"True", 1}, {"true", 1}, {"False", 0}, {"false", 0}});
constexpr auto kKeywords =
    std::to_array<std::string_view>({"and", "or", "not", "if", "else", "lambda", "for", "in", "is", "None"});

/// A recursive descent through Python's grammar of expressions: each method reads what binds tighter than its caller.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expression run() {
    if (text_.size() > kMostCharacters) {
      throw Error(fmt::format("expected a formula of at most {} characters, found {}", kMostCharacters, text_.size()));
    }
    skip_spaces();
    if (at_end()) throw Error("expected a formula, found an empty text");
    Expression all = disjunction();
    if (!at_end()) fail_at_rest();
    return all;
  }

 private:
  /// One more level of nesting while it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMostDepth) parser_.fail(parser_.at_, fmt::format("more than {} levels", kMostDepth));
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  [[noreturn]] void fail(std::size_t at, const std::string& message) const { throw FormulaError(text_, at, message); }

  bool at_end() const { return at_ == text_.size(); }
  void skip_spaces() {
    while (!at_end() && is_space(text_[at_])) ++at_;
  }

  /// Takes the symbol, and the spaces after it, if it comes next.
  bool take(std::string_view symbol) {
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    skip_spaces();
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    const std::size_t after = at_ + word.size();
    if (after < text_.size() && continues_name(text_[after])) return false;
    return take(word);
  }
  bool next_is_word(std::string_view word) const {
    const std::size_t after = at_ + word.size();
    return next_is(word) && (after >= text_.size() || !continues_name(text_[after]));
  }
  bool next_is(std::string_view symbol) const { return text_.substr(at_).starts_with(symbol); }

  std::string found() const {
    if (at_end()) return "the end";
    return fmt::format("'{}'", text_.substr(at_, first_character(text_.substr(at_)).bytes));
  }
  void expect(std::string_view symbol) {
    if (take(symbol)) return;
    fail_at_foreign_operator();
    fail(at_, fmt::format("expected '{}', found {}", symbol, found()));
  }

  /// Behind a value: fails with the form that is meant, if an operator follows that is another language's.
  void fail_at_foreign_operator() const {
    if (next_is("^")) fail(at_, "a power is written x ** 2");
    if (next_is("%") || next_is("//")) fail(at_, "there is no remainder and no whole division");
    if (next_is("=")) fail(at_, "a comparison is written a == b; a formula assigns nothing");
    if (next_is("&")) fail(at_, "'and' is written as a word");
    if (next_is("|")) fail(at_, "'or' is written as a word");
    if (next_is("?") || next_is_word("if")) fail(at_, "a choice is written where(condition, a, b)");
  }

  /// What follows a whole formula is wrong: the most likely meaning.
  [[noreturn]] void fail_at_rest() const {
    if (next_is(")")) fail(at_, "there is no '(' for this ')'");
    if (next_is("]")) fail(at_, "there is no '[' for this ']'");
    fail_at_foreign_operator();
    if (next_is(",")) fail(at_, "expected one formula, found another after a comma");
    fail(at_, fmt::format("expected an operator or the end, found {}", found()));
  }

  Expression node(Expression made) {
    if (++nodes_ > kMostNodes) fail(made.at, fmt::format("more than {} operations and operands", kMostNodes));
    return made;
  }
  Expression call(std::size_t at, std::string_view name, std::vector<Expression> arguments) {
    Expression made;
    made.kind = Expression::Kind::kCall;
    made.at = at;
    made.name = name;
    made.arguments = std::move(arguments);
    return node(std::move(made));
  }
  Expression number(std::size_t at, double value) {
    Expression made;
    made.at = at;
    made.number = value;
    return node(std::move(made));
  }
  Expression both(std::size_t at, std::string_view name, Expression a, Expression b) {
    std::vector<Expression> arguments;
    arguments.push_back(std::move(a));
    arguments.push_back(std::move(b));
    return call(at, name, std::move(arguments));
  }

  Expression disjunction() {
    const Level level(*this);
    Expression all = conjunction();
    for (std::size_t at = at_; take_word("or"); at = at_) all = both(at, "or", std::move(all), conjunction());
    return all;
  }

  Expression conjunction() {
    Expression all = negation();
    for (std::size_t at = at_; take_word("and"); at = at_) all = both(at, "and", std::move(all), negation());
    return all;
  }

  Expression negation() {
    const Level level(*this);
    const std::size_t at = at_;
    if (take_word("not")) {
      std::vector<Expression> of;
      of.push_back(negation());
      return call(at, "not", std::move(of));
    }
    return comparison();
  }

  /// a < b < c is a < b and b < c.
  Expression comparison() {
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

  static std::size_t size_of(const Expression& tree) {
    std::size_t size = 1;
    for (const Expression& argument : tree.arguments) size += size_of(argument);
    return size;
  }

  Expression sum() {
    Expression all = product();
    while (true) {
      const std::size_t at = at_;
      const std::string_view symbol = next_is("+") ? "+" : "-";
      if (!take(symbol)) return all;
      all = both(at, symbol, std::move(all), product());
    }
  }

  Expression product() {
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

  Expression factor() {
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

  /// Groups to the right, and binds tighter than a sign before it: -x**2 is -(x**2).
  Expression power() {
    Expression base = indexed();
    const std::size_t at = at_;
    if (!take("**")) return base;
    return both(at, "**", std::move(base), factor());
  }

  Expression indexed() {
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

  std::vector<Index> indices() {
    std::vector<Index> all;
    do {
      all.push_back(index());
    } while (take(",") && !next_is("]"));
    expect("]");
    return all;
  }

  Index index() {
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

  std::int64_t whole_number() {
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

  Expression primary() {
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

  Expression literal() {
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

  Expression named() {
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

  /// "; a power is written a ** b" or "; did you mean 'mean'?" for a function that other programs have; else the known
  /// ones.
  static std::string written_here(const std::string& name) {
    if (std::string advice = advice_on_function(name); !advice.empty()) return advice;
    const std::vector<config::Name> known = function_names();
    const std::string near = config::suggestion(name, known);
    return near.empty() ? fmt::format("; there are {}", fmt::join(config::texts_of(known), ", ")) : near;
  }

  /// A dot behind a value: `tf.reduce_mean(x)`, a function of a module, or `x.mean()`, one of a value.
  [[noreturn]] void fail_at_dot(std::size_t start) const {
    std::size_t end = start;
    while (end < text_.size() && (continues_name(text_[end]) || text_[end] == '.')) ++end;
    const std::string path(text_.substr(start, end - start)), name = path.substr(path.rfind('.') + 1);
    const bool is_call = starts_name(path[0]) && end < text_.size() && text_[end] == '(' && !name.empty();
    if (!is_call) fail(text_.find('.', start), "values have no attributes; write f(x) for x.f()");
    const std::string advice = advice_on_function(name);
    const auto nearest = config::nearest_name(name, function_names());
    if (advice.empty() && !nearest) fail(start, fmt::format("there is no function '{}'{}", path, written_here(name)));
    fail(start, fmt::format("a function's name stands alone, without '{}'{}", path.substr(0, path.rfind('.') + 1),
                            advice.empty() ? fmt::format("; write {}(...)", *nearest) : advice));
  }

  Expression arguments_of(std::size_t at, const std::string& name) {
    const Function* const function = find_function(name);
    if (function == nullptr || function->is_operator) {
      fail(at, fmt::format("there is no function '{}'{}", config::shortened(name), written_here(name)));
    }
    Expression made = call(at, name, {});
    take("(");
    while (!next_is(")")) {
      if (at_end()) fail(at_, fmt::format("expected ')' after the arguments of {}, found the end", name));
      argument(*function, made);
      if (!take(",")) break;
    }
    expect(")");
    check_number_of_arguments(*function, made);
    return made;
  }

  void argument(const Function& function, Expression& call) {
    const std::size_t at = at_;
    if (keyword("axis")) {
      if (!takes_axis(function)) fail(at, fmt::format("{} has no axis", function.name));
      if (call.axes) fail(at, "the axis is given twice");
      call.axes = axes();
    } else if (keyword("keepdims")) {
      if (!takes_keepdims(function)) fail(at, fmt::format("{} has no keepdims", function.name));
      call.keeps_axes = boolean();
    } else if (function.kind != FunctionKind::kConcatenate && takes_axis(function) && call.arguments.size() == 1 &&
               !call.axes) {
      call.axes = axis_by_position(function);
    } else {
      call.arguments.push_back(disjunction());
      if (next_is("=") && !next_is("==")) {
        at_ = at;
        fail_at_argument(function);
      }
    }
  }

  [[noreturn]] void fail_at_argument(const Function& function) const {
    const std::string_view others = takes_keepdims(function) ? "; it has axis and keepdims"
                                    : takes_axis(function)   ? "; it has axis"
                                                             : "";
    fail(at_, fmt::format("{} has no such argument{}", function.name, others));
  }

  bool keyword(std::string_view word) {
    const std::size_t before = at_;
    if (take_word(word) && next_is("=") && !next_is("==")) return take("=");
    at_ = before;
    return false;
  }

  /// max(x, 0) could mean the larger of two values, as in Python.
  static std::string of_two_values(const Function& function) {
    const bool compares = function.name == "max" || function.name == "min";
    return compares ? fmt::format("; that of two values is {}imum(a, b)", function.name) : "";
  }

  /// sum(x, 0), as in NumPy.
  std::vector<std::int64_t> axis_by_position(const Function& function) {
    const char c = at_end() ? '\0' : text_[at_];
    if (starts_name(c)) {
      std::size_t end = at_;
      while (end < text_.size() && continues_name(text_[end])) ++end;
      while (end < text_.size() && is_space(text_[end])) ++end;
      const std::string_view rest = text_.substr(end);
      if (rest.starts_with('=') && !rest.starts_with("==")) fail_at_argument(function);
    }
    if (!is_digit(c) && c != '-' && c != '(') {
      fail(at_, fmt::format("expected an axis, found {}{}", found(), of_two_values(function)));
    }
    const std::string of_two = of_two_values(function);
    if (!of_two.empty()) fail(at_, fmt::format("write an axis as {0}(x, axis=...){1}", function.name, of_two));
    return axes();
  }

  std::vector<std::int64_t> axes() {
    std::vector<std::int64_t> all;
    if (!take("(") && !take("[")) {
      all.push_back(whole_number());
      return all;
    }
    while (!next_is(")") && !next_is("]")) {
      all.push_back(whole_number());
      if (!take(",")) break;
    }
    if (!take(")")) expect("]");
    return all;
  }

  bool boolean() {
    if (take_word("true") || take_word("True")) return true;
    if (take_word("false") || take_word("False")) return false;
    fail(at_, fmt::format("expected true or false, found {}", found()));
  }

  void check_number_of_arguments(const Function& function, const Expression& call) const {
    const std::size_t found = call.arguments.size();
    if (function.kind == FunctionKind::kConcatenate && !call.axes) fail(call.at, "concatenate needs an axis=");
    if (function.kind == FunctionKind::kConcatenate && call.axes->size() != 1) {
      fail(call.at, "concatenate takes one axis");
    }
    if (function.kind == FunctionKind::kConcatenate && call.arguments.empty()) {
      fail(call.at, "concatenate needs values; they are written one after another, without brackets");
    }
    if (found < function.fewest || found > function.most) {
      fail(call.at, fmt::format("{} takes {} argument{}, found {}", function.name, function.fewest,
                                function.fewest == 1 ? "" : "s", found));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0, nodes_ = 0;
  int depth_ = 0;
};

}  // namespace

FormulaError::FormulaError(std::string_view formula, std::size_t at, std::string_view message)
    : Error([&] {
        at = std::min(at, formula.size());
        const std::size_t before = formula.substr(0, at).rfind('\n');
        const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
        const auto line = 1 + std::ranges::count(formula.substr(0, at), '\n');
        std::string_view shown = formula.substr(start, formula.find('\n', at) - start);
        // A long line is shown from near the place on.
        constexpr std::size_t kMostBefore = 60, kMostShown = 100;
        std::size_t skipped = at - start > kMostBefore ? at - start - kMostBefore : 0;
        while (skipped > 0 && skipped < shown.size() && (shown[skipped] & 0xC0) == 0x80) ++skipped;
        shown = shown.substr(skipped, kMostShown);
        return fmt::format("in the formula, line {}, column {}: {}\n    {}\n    {:>{}}", line, at - start + 1, message,
                           shown, '^', at - start - skipped + 1);
      }()) {}

bool reads(const Expression& tree, std::string_view name) {
  if (tree.kind == Expression::Kind::kName && tree.name == name) return true;
  return std::ranges::any_of(tree.arguments, [name](const Expression& argument) { return reads(argument, name); });
}

bool is_reserved(std::string_view word) {
  const Function* const function = find_function(word);
  return (function != nullptr && !function->is_operator) ||
         std::ranges::find(kConstants, word, &Constant::name) != kConstants.end() ||
         std::ranges::find(kKeywords, word) != kKeywords.end();
}

Expression parse(std::string_view formula) { return Parser(formula).run(); }

std::string syntax_mistake(std::string_view formula) {
  try {
    parse(formula);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace mirrortrain::formula
