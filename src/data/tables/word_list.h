#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mirrortrain::data {

/// Distinct words, numbered in order of first appearance.
class WordList {
 public:
  /// The word's number; a new word gets a new one.
  std::int64_t number_of(std::string_view word) {
    const auto found = numbers_.find(word);
    if (found != numbers_.end()) return found->second;
    numbers_.emplace(word, static_cast<std::int64_t>(words_.size()));
    words_.emplace_back(word);
    return static_cast<std::int64_t>(words_.size()) - 1;
  }

  /// The number of a word that may be known; -1: it is not.
  std::int64_t find(std::string_view word) const {
    const auto found = numbers_.find(word);
    return found != numbers_.end() ? found->second : -1;
  }

  void forget_last() {
    numbers_.erase(words_.back());
    words_.pop_back();
  }

  std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }
  const std::vector<std::string>& words() const { return words_; }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>{}(word); }
  };
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> numbers_;
  std::vector<std::string> words_;
};

}  // namespace mirrortrain::data
