#include "train/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/philox.h"

namespace mirrortrain {
namespace {

/// Throws UsageError where the model is none that tells the next byte at every position of a window.
std::int64_t window_of(const CheckedConfiguration& checked, const OutputMeaning& meaning, const std::string& name) {
  const auto refuse = [&name](const std::string& found) {
    throw UsageError(
        fmt::format("{}: expected a model that gives one of {} classes, the next byte, for every position of a text, "
                    "found {}; generate takes runs that were trained on data of format text, predict all others",
                    name, kByteValues, found));
  };
  const Loss& loss = checked.values().loss->value;
  if (!std::holds_alternative<losses::SparseCategoricalCrossentropy>(loss) &&
      !std::holds_alternative<losses::CategoricalCrossentropy>(loss)) {
    refuse("a loss that is no crossentropy of classes");
  }
  if (meaning.shape.rank() != 2 || meaning.shape[1] != kByteValues)
    refuse(fmt::format("the output {} of an example", meaning.shape.text()));
  const data::InputSpec& input = checked.input;
  const std::int64_t window = meaning.shape[0];
  if (!data::same_but_ones(Shape{window}, input.features))
    refuse(fmt::format("the input {} with the output {}", input.features.text(), meaning.shape.text()));
  if (input.numbers_below != 0 && input.numbers_below < kByteValues)
    refuse(fmt::format("an embedding of {} rows", input.numbers_below));
  return window;
}

/// A window as data of format text have it, with labels that nobody looks at.
data::Dataset one_window(std::int64_t window) {
  const auto zeros = [window] {
    data::Array array(DType::kUint8, Shape{1, window}, "the text");
    std::ranges::fill(array.span<std::uint8_t>(), std::uint8_t{0});
    return array;
  };
  return data::Dataset({zeros(), zeros()});
}

/// The window changes from byte to byte, which a device that keeps the data set in its memory would not see.
CheckedConfiguration fed_by_host(CheckedConfiguration checked) {
  checked.read.values.data.cache = data::Cache::kHost;
  return checked;
}

}  // namespace

std::uint8_t choose_byte(std::span<const float> logits, const Sampling& sampling, std::uint64_t position) {
  std::array<std::uint8_t, kByteValues> bytes{};
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  const bool has_nan = std::ranges::any_of(logits, [](float logit) { return std::isnan(logit); });
  if (!has_nan)
    std::ranges::stable_sort(bytes, std::ranges::greater{}, [&](std::uint8_t byte) { return logits[byte]; });
  const auto largest = static_cast<double>(logits[bytes[0]]);
  if (has_nan || !std::isfinite(largest)) {
    throw Error("the model's output for the next byte is NaN or infinite; take an earlier checkpoint of the run");
  }
  if (sampling.temperature == 0) return bytes[0];

  const auto kept = static_cast<std::size_t>(std::min(sampling.top_k, kByteValues));
  std::array<double, kByteValues> sums{};  // of the weights up to each
  double sum = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    sum += std::exp((static_cast<double>(logits[bytes[i]]) - largest) / sampling.temperature);
    sums[i] = sum;
  }
  constexpr std::uint64_t kStream = hash_of_name("generated text");
  const auto words =
      Philox::with_key(sampling.seed)(static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                                      static_cast<std::uint32_t>(kStream), static_cast<std::uint32_t>(kStream >> 32));
  const double drawn = static_cast<double>(uniform_from_bits(words.word[0])) * sum;
  // Below the last sum, as what is drawn is below 1.
  return bytes[static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.begin() + kept, drawn) - sums.begin())];
}

TextGenerator::TextGenerator(CheckedConfiguration checked, data::Adapted adapted, std::string name)
    : checked_(fed_by_host(std::move(checked))),
      name_(std::move(name)),
      meaning_(output_meaning(checked_, {})),
      window_(window_of(checked_, meaning_, name_)),
      run_(run_to_predict(checked_, one_window(window_), std::move(adapted), {.rows = 1, .one_replica = true})),
      outputs_(static_cast<std::size_t>(meaning_.elements())) {}

std::span<const float> TextGenerator::outputs_of(std::span<const std::uint8_t> window) {
  std::ranges::copy(window, run_.test->dataset().features().span<std::uint8_t>().begin());
  const std::array<std::int64_t, 1> row{0};
  StepSpec step;
  step.data_set = run_.test.get();
  step.rows = row;
  run_.strategy->predict(step, outputs_);
  return outputs_;
}

/// What a position gives must be the same whatever follows it: a text shorter than the window is followed by zeros.
void TextGenerator::require_causal() {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(window_));
  // No zeros, which may be padding, for which attention has a rule of its own.
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(1 + i % 255);
  const auto before = outputs_of(bytes);
  const std::vector<float> expected(before.begin(), before.end());
  const std::size_t changed = (bytes.size() + 1) / 2;
  for (std::size_t i = changed; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(~bytes[i]);
  const auto found = outputs_of(bytes);
  for (std::size_t i = 0; i < changed * kByteValues; ++i) {
    const bool both_nan = std::isnan(expected[i]) && std::isnan(found[i]);  // which choose_byte tells
    if (expected[i] == found[i] || both_nan) continue;
    throw UsageError(fmt::format(
        "{}: expected a causal model, whose output at a position depends on the bytes up to it alone, found "
        "that position {} of {} sees bytes that follow it; train one whose layers look back only, such as "
        "multi_head_attention with use_causal_mask: true, or lstm",
        name_, i / kByteValues, window_));
  }
}

std::vector<float> TextGenerator::next_logits(const std::string& text) {
  std::vector<std::uint8_t> window(static_cast<std::size_t>(window_));
  const std::size_t seen = std::min(text.size(), window.size());
  std::copy(text.end() - static_cast<std::ptrdiff_t>(seen), text.end(), window.begin());
  const auto outputs = outputs_of(window).subspan((seen - 1) * kByteValues, kByteValues);
  std::vector<float> logits(outputs.begin(), outputs.end());
  if (!meaning_.is_logits) std::ranges::transform(logits, logits.begin(), [](float p) { return std::log(p); });
  return logits;
}

void TextGenerator::generate(std::string prompt, std::int64_t tokens, const Sampling& sampling,
                             const std::function<bool(std::uint8_t)>& take) {
  require_causal();
  std::string text = std::move(prompt);
  std::uint64_t position = text.size();
  for (std::int64_t i = 0; i < tokens; ++i, ++position) {
    if (std::ssize(text) > window_) text.erase(0, text.size() - static_cast<std::size_t>(window_));
    const std::uint8_t byte = choose_byte(next_logits(text), sampling, position);
    if (!take(byte)) return;
    text += static_cast<char>(byte);
  }
}

}  // namespace mirrortrain
