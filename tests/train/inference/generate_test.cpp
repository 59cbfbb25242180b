#include "train/inference/generate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "error_text.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kBytes = 256;
constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Logits of bytes with these probabilities; of all others the probability is 0.
std::vector<float> logits_of(const std::map<char, double>& probabilities) {
  std::vector<float> logits(kBytes, kNever);
  for (const auto& [byte, probability] : probabilities)
    logits[static_cast<unsigned char>(byte)] = static_cast<float>(std::log(probability));
  return logits;
}

/// How often each byte is drawn at the first positions.
std::map<char, double> shares(const std::vector<float>& logits, const Sampling& sampling) {
  constexpr int kDraws = 20000;
  std::map<char, double> found;
  for (std::uint64_t position = 0; position < kDraws; ++position)
    found[static_cast<char>(choose_token(logits, sampling, position))] += 1.0 / kDraws;
  return found;
}

TEST_CASE("bytes are drawn by their probabilities, and never one that has none") {
  const std::map<char, double> probabilities = {{'a', 0.64}, {'b', 0.04}, {'\xff', 0.32}};
  const auto found = shares(logits_of(probabilities), {});
  CHECK(found.size() == 3);
  for (const auto& [byte, probability] : probabilities) CHECK(std::abs(found.at(byte) - probability) < 0.01);
}

TEST_CASE("the temperature divides the logits") {
  const auto flatter = shares(logits_of({{'a', 0.64}, {'b', 0.36}}), {.temperature = 2});
  CHECK(std::abs(flatter.at('a') - 0.8 / 1.4) < 0.01);  // roots of the probabilities
  const auto steeper = shares(logits_of({{'a', 0.6}, {'b', 0.4}}), {.temperature = 0.5});
  CHECK(std::abs(steeper.at('a') - 0.36 / 0.52) < 0.01);
  CHECK_FALSE(shares(logits_of({{'a', 0.51}, {'b', 0.49}}), {.temperature = 1e-300}).contains('b'));
}

TEST_CASE("temperature 0 takes the most probable byte, the smallest of several") {
  const std::vector<float> logits = logits_of({{'a', 0.2}, {'x', 0.4}, {'b', 0.4}});
  for (std::uint64_t position = 0; position < 100; ++position)
    CHECK(choose_token(logits, {.temperature = 0, .seed = position}, position) == 'b');
}

TEST_CASE("top_k draws from the most probable bytes alone, by their probabilities") {
  const std::vector<float> logits = logits_of({{'a', 0.1}, {'b', 0.3}, {'c', 0.2}, {'d', 0.1}, {'e', 0.3}});
  const auto found = shares(logits, {.top_k = 3});
  CHECK(found.size() == 3);
  CHECK(std::abs(found.at('b') - 0.375) < 0.01);
  CHECK(std::abs(found.at('c') - 0.25) < 0.01);
  CHECK(std::abs(found.at('e') - 0.375) < 0.01);
  CHECK(shares(logits, {.temperature = 100, .top_k = 4}).contains('a'));  // rather than d, which is as probable
  CHECK_FALSE(shares(logits, {.temperature = 100, .top_k = 4}).contains('d'));
  CHECK(shares(logits, {.temperature = 100, .top_k = 1}).size() == 1);
  CHECK(shares(logits, {.top_k = 1000}) == shares(logits, {}));
}

TEST_CASE("a draw is a function of seed and position") {
  const std::vector<float> same(kBytes, 0.0f);
  const auto text = [&](std::uint64_t seed, std::uint64_t first) {
    std::string drawn;
    for (std::uint64_t i = 0; i < 64; ++i) drawn += static_cast<char>(choose_token(same, {.seed = seed}, first + i));
    return drawn;
  };
  CHECK(text(1, 0) == text(1, 0));
  CHECK(text(1, 0) != text(2, 0));
  CHECK(text(1, 0) != text(std::uint64_t{1} << 32 | 1, 0));
  CHECK(text(1, 0).substr(32) == text(1, 32).substr(0, 32));
  CHECK(text(1, 0) != text(1, std::uint64_t{1} << 32));
}

TEST_CASE("logits that are NaN, or among which none is finite, are refused") {
  std::vector<float> logits(kBytes, 0.0f);
  const auto refusal = [&] { return error_text([&] { choose_token(logits, {.temperature = 0}, 0); }); };
  CHECK(refusal() == "no error");
  logits[200] = std::nanf("");
  CHECK(contains(refusal(), "NaN or infinite; take an earlier checkpoint"));
  logits[200] = std::numeric_limits<float>::infinity();
  CHECK(contains(refusal(), "NaN or infinite"));
  logits.assign(kBytes, kNever);
  CHECK(contains(refusal(), "NaN or infinite"));
}

}  // namespace
}  // namespace mirrortrain
