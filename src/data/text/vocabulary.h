#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mirrortrain::data {

/// How many tokens there are without a vocabulary.
inline constexpr std::int64_t kByteTokens = 256;

/// The tokens of a text: characters, words or parts of words, numbered from 0 in the given order.
class Vocabulary {
 public:
  /// `name`: in messages. Throws Error if there is no token, an empty one, or a duplicate.
  Vocabulary(std::vector<std::string> tokens, std::string name);
  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;

  /// Reads a file: a JSON list of strings if its name ends in .json, else one token per line. Throws Error, naming file
  /// and line, for anything else.
  static Vocabulary read(const std::string& path);

  const std::vector<std::string>& tokens() const { return tokens_; }
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }

  /// The numbers of a text's tokens. From the beginning, each is the longest token that matches there, so that the
  /// concatenated tokens are the text. Throws Error, naming `origin`, line and column, where no token matches.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& origin) const;
  /// Adds these numbers to `to`, up to `most`. Returns where it ends: at the text's end, behind `most` tokens, or where
  /// no token matches.
  std::size_t encode(std::string_view text, std::size_t most, std::vector<std::int32_t>& to) const;

  /// In messages.
  const std::string& name() const { return name_; }

 private:
  /// The longest token with which `text` begins; -1: none.
  std::int32_t first_token(std::string_view text) const;

  std::vector<std::string> tokens_;
  std::string name_;
  std::unordered_map<std::string_view, std::int32_t> numbers_;  ///< keys are in tokens_
  std::vector<std::vector<std::size_t>> lengths_;  ///< by first byte, of the tokens that begin with it, longest first
};

}  // namespace mirrortrain::data
