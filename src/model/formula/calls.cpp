// Calls of a formula's functions, with their arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/scalar.h"
#include "model/formula/parser.h"

namespace mirrortrain::formula {
namespace {

/// "; a power is written a ** b" or "; did you mean 'mean'?" for a function that other programs have; else the known
/// ones.
std::string written_here(const std::string& name) {
  if (std::string advice = advice_on_function(name); !advice.empty()) return advice;
  const std::vector<config::Name> known = function_names();
  const std::string near = config::suggestion(name, known);
  return near.empty() ? fmt::format("; there are {}", fmt::join(config::texts_of(known), ", ")) : near;
}

/// max(x, 0) could mean the larger of two values, as in Python.
std::string of_two_values(const Function& function) {
  const bool compares = function.name == "max" || function.name == "min";
  return compares ? fmt::format("; that of two values is {}imum(a, b)", function.name) : "";
}

}  // namespace

void Parser::fail_at_dot(std::size_t start) const {
  std::size_t end = start;
  while (end < text_.size() && (continues_name(text_[end]) || text_[end] == '.')) ++end;
  const std::string path(text_.substr(start, end - start)), name = path.substr(path.rfind('.') + 1);
  const bool is_call = starts_name(path[0]) && end < text_.size() && text_[end] == '(' && !name.empty();
  if (!is_call) fail(text_.find('.', start), "values have no attributes; write f(x) for x.f()");
  const std::string advice = advice_on_function(name);
  const auto nearest = config::nearest_name(name, function_names());
  if (advice.empty() && !nearest) fail(start, fmt::format("there is no function '{}'{}", path, written_here(name)));
  fail(start, fmt::format("a function is written without '{}'{}", path.substr(0, path.rfind('.') + 1),
                          advice.empty() ? fmt::format("; write {}(...)", *nearest) : advice));
}

Expression Parser::arguments_of(std::size_t at, const std::string& name) {
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

void Parser::argument(const Function& function, Expression& call) {
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

void Parser::fail_at_argument(const Function& function) const {
  const std::string_view others = takes_keepdims(function) ? "; it has axis and keepdims"
                                  : takes_axis(function)   ? "; it has axis"
                                                           : "";
  fail(at_, fmt::format("{} has no such argument{}", function.name, others));
}

bool Parser::keyword(std::string_view word) {
  const std::size_t before = at_;
  if (take_word(word) && next_is("=") && !next_is("==")) return take("=");
  at_ = before;
  return false;
}

std::vector<std::int64_t> Parser::axis_by_position(const Function& function) {
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

std::vector<std::int64_t> Parser::axes() {
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

bool Parser::boolean() {
  if (take_word("true") || take_word("True")) return true;
  if (take_word("false") || take_word("False")) return false;
  fail(at_, fmt::format("expected true or false, found {}", found()));
}

void Parser::check_number_of_arguments(const Function& function, const Expression& call) const {
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

}  // namespace mirrortrain::formula
