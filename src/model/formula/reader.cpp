#include "model/formula/reader.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "model/formula/expression.h"

namespace mirrortrain::formula {

void Reader::fail(std::size_t at, const std::string& message) const { throw FormulaError(text_, at, message); }

void Reader::skip_spaces() {
  while (!at_end() && is_space(text_[at_])) ++at_;
}

bool Reader::take(std::string_view symbol) {
  if (!text_.substr(at_).starts_with(symbol)) return false;
  at_ += symbol.size();
  skip_spaces();
  return true;
}

bool Reader::take_word(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return false;
  const std::size_t after = at_ + word.size();
  if (after < text_.size() && continues_name(text_[after])) return false;
  return take(word);
}

bool Reader::next_is_word(std::string_view word) const {
  const std::size_t after = at_ + word.size();
  return next_is(word) && (after >= text_.size() || !continues_name(text_[after]));
}

std::string Reader::found() const {
  if (at_end()) return "the end";
  return fmt::format("'{}'", text_.substr(at_, first_character(text_.substr(at_)).bytes));
}

void Reader::expect(std::string_view symbol) {
  if (take(symbol)) return;
  fail_at_foreign_operator();
  fail(at_, fmt::format("expected '{}', found {}", symbol, found()));
}

void Reader::fail_at_foreign_operator() const {
  if (next_is("^")) fail(at_, "a power is written x ** 2");
  if (next_is("%") || next_is("//")) fail(at_, "there is no remainder and no whole division");
  if (next_is("=")) fail(at_, "a comparison is written a == b; a formula assigns nothing");
  if (next_is("&")) fail(at_, "'and' is written as a word");
  if (next_is("|")) fail(at_, "'or' is written as a word");
  if (next_is("?") || next_is_word("if")) fail(at_, "a choice is written where(condition, a, b)");
}

}  // namespace mirrortrain::formula
