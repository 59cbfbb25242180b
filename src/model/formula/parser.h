#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/formula/expression.h"
#include "model/formula/functions.h"
#include "model/formula/reader.h"

namespace mirrortrain::formula {

/// A word that stands for a number.
struct Constant {
  std::string_view name;
  double value;
};
inline constexpr auto kConstants =
    std::to_array<Constant>({{"pi", 3.14159265358979323846}, {"True", 1}, {"true", 1}, {"False", 0}, {"false", 0}});
/// Words of Python that no value can have as a name.
inline constexpr auto kKeywords =
    std::to_array<std::string_view>({"and", "or", "not", "if", "else", "lambda", "for", "in", "is", "None"});

/// A recursive descent through Python's grammar of expressions: each method reads what binds tighter than its caller.
class Parser : private Reader {
 public:
  explicit Parser(std::string_view text) : Reader(text) {}

  /// The whole formula. Throws FormulaError.
  Expression run();

 private:
  /// One more level of nesting while it lives.
  class Level {
   public:
    explicit Level(Parser& parser);
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  /// What follows a whole formula is wrong: the most likely meaning.
  [[noreturn]] void fail_at_rest() const;

  Expression node(Expression made);
  Expression call(std::size_t at, std::string_view name, std::vector<Expression> arguments);
  Expression number(std::size_t at, double value);
  Expression both(std::size_t at, std::string_view name, Expression a, Expression b);

  // parser.cpp: operators.
  Expression disjunction();
  Expression conjunction();
  Expression negation();
  /// a < b < c is a < b and b < c.
  Expression comparison();
  Expression sum();
  Expression product();
  Expression factor();
  /// Groups to the right, and binds tighter than a sign before it: -x**2 is -(x**2).
  Expression power();

  // values.cpp: what operators join.
  Expression indexed();
  std::vector<Index> indices();
  Index index();
  std::int64_t whole_number();
  Expression primary();
  Expression literal();
  Expression named();

  // calls.cpp: functions and their arguments.
  /// A dot behind a value: `tf.reduce_mean(x)`, a function of a module, or `x.mean()`, one of a value.
  [[noreturn]] void fail_at_dot(std::size_t start) const;
  Expression arguments_of(std::size_t at, const std::string& name);
  void argument(const Function& function, Expression& call);
  [[noreturn]] void fail_at_argument(const Function& function) const;
  bool keyword(std::string_view word);
  /// sum(x, 0), as in NumPy.
  std::vector<std::int64_t> axis_by_position(const Function& function);
  std::vector<std::int64_t> axes();
  bool boolean();
  void check_number_of_arguments(const Function& function, const Expression& call) const;

  std::size_t nodes_ = 0;
  int depth_ = 0;
};

}  // namespace mirrortrain::formula
