#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/vocabulary.h"
#include "train/inference/predict.h"
#include "train/inference/prediction.h"

namespace mirrortrain {

/// How a token is chosen among what the model thinks probable.
struct Sampling {
  double temperature = 1;               ///< divides the logits; 0: the most probable token
  std::optional<std::int64_t> top_k{};  ///< only so many of the most probable tokens are drawn from; at least 1
  std::uint64_t seed = 0;
};

/// Draws a token by its logit; of equal ones the smaller number counts as more probable. A pure function of what it is
/// given: `position`, the number of tokens before this one, makes draws differ. Throws Error where the logits are NaN,
/// or none is finite.
std::int32_t choose_token(std::span<const float> logits, const Sampling& sampling, std::uint64_t position);

/// Continues a text by the next token, with the model of a run that was trained on data of format text: one window of
/// tokens on one replica, so that the text does not depend on how many the run has.
class TextGenerator {
 public:
  /// `name`: what messages call the run; `adapted`: what it kept, with its vocabulary where it has one. Throws
  /// UsageError where the model does not take a window of tokens or does not give a class for each of them at every
  /// position (classes beyond them are never drawn), and what run_to_predict throws.
  TextGenerator(CheckedConfiguration checked, data::Adapted adapted, std::string name);

  /// Ready but for the variables' values.
  Strategy& strategy() { return *run_.strategy; }
  std::int64_t window() const { return window_; }

  /// Gives the texts of `count` tokens, one after the other, to `take` until it returns false. The model sees the last
  /// window() tokens of the text so far. `prompt` is not empty. Throws UsageError for a prompt that the run's
  /// vocabulary cannot say and for a model that is not causal, Error for one whose outputs are not finite.
  void generate(const std::string& prompt, std::int64_t count, const Sampling& sampling,
                const std::function<bool(std::string_view)>& take);

 private:
  const char* unit() const { return vocabulary_ ? "token" : "byte"; }
  std::vector<std::int32_t> tokens_of(const std::string& prompt) const;
  std::string text_of(std::int32_t token) const;
  std::span<const float> outputs_of(std::span<const std::int32_t> window);
  void require_causal();
  std::vector<float> next_logits(std::span<const std::int32_t> tokens);

  CheckedConfiguration checked_;
  std::string name_;
  std::optional<data::Vocabulary> vocabulary_;  ///< absent: tokens are bytes
  std::int64_t classes_;                        ///< tokens that can be drawn
  OutputMeaning meaning_;
  std::int64_t window_;
  Run run_;  ///< its one example is the window
  std::vector<float> outputs_;
};

}  // namespace mirrortrain
