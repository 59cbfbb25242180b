#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mirrortrain::data {

/// The tokens that a text is made of, characters, words or parts of words, numbered from 0 in their order.
class Vocabulary {
 public:
  /// `name`: what messages call it. Throws Error for no token, an empty one, and one that is listed twice.
  Vocabulary(std::vector<std::string> tokens, std::string name);
  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;

  /// Of a file: a JSON list of strings where its name ends in .json, else a token on each line. Throws Error, naming
  /// file and line, for anything else.
  static Vocabulary read(const std::string& path);

  const std::vector<std::string>& tokens() const { return tokens_; }
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }

  /// The numbers of a text's tokens. From its beginning on, each is the longest that the text goes on with, so that
  /// the tokens one after the other are the text again. Throws Error, naming `origin`, line and column, where the text
  /// goes on with no token.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& origin) const;

 private:
  /// The longest token that `text` begins with; -1: none.
  std::int32_t first_token(std::string_view text) const;

  std::vector<std::string> tokens_;
  std::string name_;
  std::unordered_map<std::string_view, std::int32_t> numbers_;  ///< keys are in tokens_
  std::vector<std::vector<std::size_t>> lengths_;  ///< by first byte, of the tokens that begin with it, longest first
};

}  // namespace mirrortrain::data
