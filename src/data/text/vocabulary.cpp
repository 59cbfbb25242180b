#include "data/text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "data/files/input.h"

namespace mirrortrain::data {
namespace {

std::vector<std::string> tokens_of_json(const std::string& text, const std::string& path) {
  const auto json = parse_json_if_valid<nlohmann::json>(text);
  const bool is_list =
      json.is_array() && std::ranges::all_of(json, [](const auto& token) { return token.is_string(); });
  if (!is_list) {
    throw Error(fmt::format("{}: expected a JSON list of strings, the tokens in order, as [\"a\", \"b\"]", path));
  }
  return json.get<std::vector<std::string>>();
}

std::vector<std::string> tokens_of_lines(std::string_view text) {
  std::vector<std::string> tokens;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    tokens.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return tokens;
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> tokens, std::string name)
    : tokens_(std::move(tokens)), name_(std::move(name)), lengths_(256) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (is_utf8(tokens_[i])) continue;
    throw Error(fmt::format("{}: token {} (counting from 0), '{}', is not UTF-8; save the file as UTF-8", name_, i,
                            shortened(tokens_[i])));
  }
  if (tokens_.empty()) throw Error(fmt::format("{}: expected at least one token, found none", name_));
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& token = tokens_[i];
    if (token.empty()) throw Error(fmt::format("{}: token {} (counting from 0) is empty; remove it", name_, i));
    const auto [known, is_new] = numbers_.emplace(token, static_cast<std::int32_t>(i));
    if (!is_new) {
      throw Error(fmt::format("{}: the token '{}' is listed twice, as {} and {} (counting from 0); remove one", name_,
                              shortened(token), known->second, i));
    }
    lengths_[static_cast<unsigned char>(token[0])].push_back(token.size());
  }
  for (std::vector<std::size_t>& lengths : lengths_) {
    std::ranges::sort(lengths, std::ranges::greater{});
    lengths.erase(std::ranges::unique(lengths).begin(), lengths.end());
  }
}

Vocabulary Vocabulary::read(const std::string& path) {
  const std::string text(without_byte_order_mark(read_text(*open_input(path))));
  return {path.ends_with(".json") ? tokens_of_json(text, path) : tokens_of_lines(text), path};
}

std::int32_t Vocabulary::first_token(std::string_view text) const {
  for (const std::size_t length : lengths_[static_cast<unsigned char>(text[0])]) {
    if (length > text.size()) continue;
    if (const auto found = numbers_.find(text.substr(0, length)); found != numbers_.end()) return found->second;
  }
  return -1;
}

std::size_t Vocabulary::encode(std::string_view text, std::size_t most, std::vector<std::int32_t>& to) const {
  std::size_t at = 0;
  for (std::size_t count = 0; at < text.size() && count < most; ++count) {
    const std::int32_t number = first_token(text.substr(at));
    if (number < 0) break;
    to.push_back(number);
    at += tokens_[static_cast<std::size_t>(number)].size();
  }
  return at;
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text, const std::string& origin) const {
  std::vector<std::int32_t> numbers;
  const std::size_t at = encode(text, text.size(), numbers);
  if (at == text.size()) return numbers;
  const std::string_view before = text.substr(0, at);
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 if there is none
  throw Error(
      fmt::format("{}:{}:{}: expected a token of the vocabulary {}, found '{}'; add it to the vocabulary or "
                  "remove it from the text",
                  origin, 1 + std::ranges::count(before, '\n'), at - line_start + 1, name_,
                  shortened(std::string(text.substr(at, 16)))));
}

}  // namespace mirrortrain::data
