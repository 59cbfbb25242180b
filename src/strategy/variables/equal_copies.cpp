#include "strategy/variables/equal_copies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace mirrortrain {

std::uint64_t checksum(std::span<const std::byte> bytes) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const std::size_t words = bytes.size() / kWord;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i * kWord, kWord);
    sum += word * (2 * i + 1);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes.data() + words * kWord, bytes.size() - words * kWord);
  return sum + rest * (2 * words + 1);
}

std::string differing_replicas_text(std::span<const std::uint64_t> checksums, std::string_view noun) {
  struct Equal {
    std::uint64_t checksum = 0;
    std::vector<std::size_t> replicas;
  };
  std::vector<Equal> sets;
  for (std::size_t r = 0; r < checksums.size(); ++r) {
    auto set = std::ranges::find(sets, checksums[r], &Equal::checksum);
    if (set == sets.end()) set = sets.insert(sets.end(), {checksums[r], {}});
    set->replicas.push_back(r);
  }
  if (sets.size() < 2) return "";
  const auto text = [noun](const std::vector<std::size_t>& replicas) {
    return fmt::format("{}{} {}", noun, replicas.size() == 1 ? "" : "s", fmt::join(replicas, ", "));
  };
  const auto largest = std::ranges::max_element(sets, {}, [](const Equal& set) { return set.replicas.size(); });
  if (2 * largest->replicas.size() > checksums.size()) {
    std::vector<std::size_t> others;
    for (const Equal& set : sets) {
      if (&set != &*largest) others.insert(others.end(), set.replicas.begin(), set.replicas.end());
    }
    std::ranges::sort(others);
    return fmt::format("{} {} other values than the rest", text(others), others.size() == 1 ? "has" : "have");
  }
  std::vector<std::string> texts;
  for (const Equal& set : sets) texts.push_back(text(set.replicas));
  return fmt::format("{} have different values", fmt::join(texts, " and "));
}

}  // namespace mirrortrain
