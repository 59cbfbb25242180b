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

/// How the next token is sampled.
struct Sampling {
  double temperature = 1;               ///< divides the logits; 0: the most probable token
  std::optional<std::int64_t> top_k{};  ///< sample only from this many of the most probable tokens; at least 1
  std::uint64_t seed = 0;
};

/// Samples a token by its logits; of equal ones, the smaller number counts as more probable. A pure function of its
/// arguments: `position`, the number of tokens before this one, makes samples differ. Throws Error if the logits are
/// NaN, or if none is finite.
std::int32_t choose_token(std::span<const float> logits, const Sampling& sampling, std::uint64_t position);

/// Generates text token by token, with the model of a run that was trained on data of format text: one window of tokens
/// on one replica, so that the text does not depend on the run's number of replicas.
class TextGenerator {
 public:
  /// `name`: the run's name in messages; `adapted`: as kept by the run, with its vocabulary if it has one. Throws
  /// UsageError if the model does not accept a window of tokens or does not predict a class for each of them at every
  /// position (classes beyond them are never sampled), and the exceptions of run_to_predict.
  TextGenerator(CheckedConfiguration checked, data::Adapted adapted, std::string name);

  /// Ready except for the variables' values.
  Strategy& strategy() { return *run_.strategy; }
  std::int64_t window() const { return window_; }
  /// The text of tokens, as of the data.
  std::string text_of(std::span<const std::int32_t> tokens) const;

  /// Calls `take` with the text of each of `count` tokens in turn until it returns false. The model sees the last
  /// window() tokens of the text so far. `prompt` must not be empty. Throws UsageError for a prompt that the run's
  /// vocabulary cannot represent and for a model that is not causal, Error for one whose outputs are not finite.
  void generate(const std::string& prompt, std::int64_t count, const Sampling& sampling,
                const std::function<bool(std::string_view)>& take);

 private:
  const char* unit() const { return vocabulary_ ? "token" : "byte"; }
  std::vector<std::int32_t> tokens_of(const std::string& prompt) const;
  std::string text_of_one(std::int32_t token) const;
  std::span<const float> outputs_of(std::span<const std::int32_t> window);
  void require_causal();
  std::vector<float> next_logits(std::span<const std::int32_t> tokens);

  CheckedConfiguration checked_;
  std::string name_;
  std::optional<data::Vocabulary> vocabulary_;  ///< absent: tokens are bytes
  std::int64_t classes_;                        ///< tokens that can be sampled
  OutputMeaning meaning_;
  std::int64_t window_;
  Run run_;  ///< its only example is the window
  std::vector<float> outputs_;
};

}  // namespace mirrortrain
