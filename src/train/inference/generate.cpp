#include "train/inference/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/philox.h"
#include "data/text/text.h"

namespace mirrortrain {
namespace {

constexpr std::int64_t kByteValues = 256;

/// Throws UsageError unless the model predicts the next token at every position of a window.
std::int64_t window_of(const CheckedConfiguration& checked, const OutputMeaning& meaning, std::int64_t classes,
                       const char* unit, const std::string& name) {
  const auto refuse = [&](const std::string& found) {
    throw UsageError(fmt::format(
        "{}: expected a model that gives one of {} classes or more, the next {}, for every position of a text, found "
        "{}; generate takes runs that were trained on data of format text, predict all others",
        name, classes, unit, found));
  };
  if (checked.objectives.size() != 1 || checked.examples.inputs.size() != 1) {
    refuse("one of several inputs or outputs");
  }
  const Loss& loss = checked.objectives.front().loss.value;
  if (!config::holds_alternative<losses::SparseCategoricalCrossentropy>(loss) &&
      !config::holds_alternative<losses::CategoricalCrossentropy>(loss)) {
    refuse("a loss that is no crossentropy of classes");
  }
  if (meaning.shape.rank() != 2 || meaning.shape[1] < classes)
    refuse(fmt::format("the output {} of an example", meaning.shape.text()));
  const data::InputSpec& input = checked.examples.inputs.front();
  const std::int64_t window = meaning.shape[0];
  if (!data::same_but_ones(Shape{window}, input.shape))
    refuse(fmt::format("the input {} with the output {}", input.shape.text(), meaning.shape.text()));
  if (input.numbers_below != 0 && input.numbers_below < classes)
    refuse(fmt::format("an embedding of {} rows", input.numbers_below));
  return window;
}

/// The run's vocabulary.
std::optional<data::Vocabulary> vocabulary_of(const CheckedConfiguration& checked, const data::Adapted& adapted) {
  const auto* const text = std::get_if<data::Text>(&checked.values().data.train.value);
  if (text == nullptr || !text->vocabulary) return std::nullopt;
  const std::vector<std::string>& tokens = adapted.classes_of("");
  return tokens.empty() ? data::Vocabulary::read(text->vocabulary->text) : data::Vocabulary(tokens, "of the run");
}

/// One window as in data of format text, with unused labels.
data::Dataset one_window(std::int64_t window) {
  const auto zeros = [window] {
    data::Array array(DType::kInt32, Shape{1, window}, "the text");
    std::ranges::fill(array.span<std::int32_t>(), 0);
    return array;
  };
  return data::Dataset(data::examples_of(zeros(), zeros()));
}

}  // namespace

std::int32_t choose_token(std::span<const float> logits, const Sampling& sampling, std::uint64_t position) {
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto logit_of = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  const bool has_nan = std::ranges::any_of(logits, [](float logit) { return std::isnan(logit); });
  if (!has_nan) std::ranges::stable_sort(tokens, std::ranges::greater{}, logit_of);
  const auto largest = static_cast<double>(logit_of(tokens[0]));
  if (has_nan || !std::isfinite(largest)) {
    throw Error("the model's output for the next token is NaN or infinite; take an earlier checkpoint of the run");
  }
  if (sampling.temperature == 0) return tokens[0];

  const auto all = std::ssize(tokens);
  const std::int64_t kept = std::min(sampling.top_k.value_or(all), all);
  std::vector<double> sums;  // cumulative weights
  double sum = 0;
  for (const std::int32_t token : std::span(tokens).first(static_cast<std::size_t>(kept))) {
    sum += std::exp((static_cast<double>(logit_of(token)) - largest) / sampling.temperature);
    sums.push_back(sum);
  }
  constexpr std::uint64_t kStream = hash_of_name("generated text");
  const auto words =
      Philox::with_key(sampling.seed)(static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
                                      static_cast<std::uint32_t>(kStream), static_cast<std::uint32_t>(kStream >> 32));
  const double drawn = static_cast<double>(uniform_from_bits(words.word[0])) * sum;
  // Below the last sum, because the random number is below 1.
  return tokens[static_cast<std::size_t>(std::ranges::upper_bound(sums, drawn) - sums.begin())];
}

TextGenerator::TextGenerator(CheckedConfiguration checked, data::Adapted adapted, std::string name)
    : checked_(std::move(fed_by_host(checked))),
      name_(std::move(name)),
      vocabulary_(vocabulary_of(checked_, adapted)),
      classes_(vocabulary_ ? vocabulary_->size() : kByteValues),
      meaning_(output_meanings(checked_, nullptr).front()),
      window_(window_of(checked_, meaning_, classes_, unit(), name_)),
      run_(run_to_predict(checked_, one_window(window_), std::move(adapted), {.rows = 1, .one_replica = true})),
      outputs_(static_cast<std::size_t>(meaning_.elements())) {}

std::vector<std::int32_t> TextGenerator::tokens_of(const std::string& prompt) const {
  if (!vocabulary_) {
    std::vector<std::int32_t> tokens;
    for (const char byte : prompt) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }
  try {
    return vocabulary_->encode(prompt, "--prompt");
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

std::string TextGenerator::text_of_one(std::int32_t token) const {
  if (vocabulary_) return vocabulary_->tokens()[static_cast<std::size_t>(token)];
  return {static_cast<char>(token)};
}

std::string TextGenerator::text_of(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) text += text_of_one(token);
  return text;
}

std::span<const float> TextGenerator::outputs_of(std::span<const std::int32_t> window) {
  std::ranges::copy(window, run_.test->dataset().features(0).span<std::int32_t>().begin());
  const std::array<std::int64_t, 1> row{0};
  StepSpec step;
  step.data_set = run_.test.get();
  step.rows = row;
  const std::array<PredictedOutput, 1> to{{{outputs_, {}}}};
  run_.strategy->predict(step, to);
  return outputs_;
}

/// A position's output must not depend on what follows it: a text shorter than the window is padded with zeros.
void TextGenerator::require_causal() {
  if (classes_ < 2) return;
  // Not zeros, which may be padding, which attention treats differently.
  const auto others = static_cast<std::int32_t>(classes_) - 1;
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(window_));
  std::iota(tokens.begin(), tokens.end(), 0);
  for (std::int32_t& token : tokens) token = 1 + token % others;
  const auto before = outputs_of(tokens);
  const std::vector<float> expected(before.begin(), before.end());
  const std::size_t changed = (tokens.size() + 1) / 2;
  for (std::size_t i = changed; i < tokens.size(); ++i) tokens[i] = others > 1 ? 1 + tokens[i] % others : 0;
  const auto found = outputs_of(tokens);
  const auto outputs = static_cast<std::size_t>(meaning_.shape[1]);
  for (std::size_t i = 0; i < changed * outputs; ++i) {
    const bool both_nan = std::isnan(expected[i]) && std::isnan(found[i]);  // which choose_token reports
    if (expected[i] == found[i] || both_nan) continue;
    throw UsageError(
        fmt::format("{}: expected a causal model, whose output at a position depends on the {}s up to it alone, found "
                    "that position {} of {} sees {}s that follow it; train one whose layers look back only, such as "
                    "multi_head_attention with use_causal_mask: true, or lstm",
                    name_, unit(), i / outputs, window_, unit()));
  }
}

std::vector<float> TextGenerator::next_logits(std::span<const std::int32_t> tokens) {
  std::vector<std::int32_t> window(static_cast<std::size_t>(window_));
  const std::size_t seen = std::min(tokens.size(), window.size());
  std::ranges::copy(tokens.last(seen), window.begin());
  const std::size_t first = (seen - 1) * static_cast<std::size_t>(meaning_.shape[1]);
  const auto outputs = outputs_of(window).subspan(first, static_cast<std::size_t>(classes_));
  std::vector<float> logits(outputs.begin(), outputs.end());
  if (!meaning_.is_logits) std::ranges::transform(logits, logits.begin(), [](float p) { return std::log(p); });
  return logits;
}

void TextGenerator::generate(const std::string& prompt, std::int64_t count, const Sampling& sampling,
                             const std::function<bool(std::string_view)>& take) {
  std::vector<std::int32_t> tokens = tokens_of(prompt);
  require_causal();
  std::uint64_t position = tokens.size();
  for (std::int64_t i = 0; i < count; ++i, ++position) {
    if (std::ssize(tokens) > window_) tokens.erase(tokens.begin(), tokens.end() - window_);
    tokens.push_back(choose_token(next_logits(tokens), sampling, position));
    if (!take(text_of_one(tokens.back()))) return;
  }
}

}  // namespace mirrortrain
