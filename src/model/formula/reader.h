#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mirrortrain::formula {

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool continues_name(char c) { return starts_name(c) || is_digit(c); }

/// The place in a formula up to which it is read, and what comes next there.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

 protected:
  /// Throws FormulaError at a byte of the formula.
  [[noreturn]] void fail(std::size_t at, const std::string& message) const;
  bool at_end() const { return at_ == text_.size(); }
  void skip_spaces();
  /// Takes the symbol, and the spaces after it, if it comes next.
  bool take(std::string_view symbol);
  bool take_word(std::string_view word);
  bool next_is_word(std::string_view word) const;
  bool next_is(std::string_view symbol) const { return text_.substr(at_).starts_with(symbol); }
  /// What comes next, for messages: "'x'", or "the end".
  std::string found() const;
  /// Takes the symbol; throws FormulaError if something else comes next.
  void expect(std::string_view symbol);
  /// Behind a value: fails with the form that is meant, if an operator follows that is another language's.
  void fail_at_foreign_operator() const;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace mirrortrain::formula
