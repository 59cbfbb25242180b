#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "train/predict.h"
#include "train/prediction.h"

namespace mirrortrain {

/// Classes of a model that tells the next byte of a text.
constexpr std::int64_t kByteValues = 256;

/// How a byte is chosen among what the model thinks probable.
struct Sampling {
  double temperature = 1;            ///< divides the logits; 0: the most probable byte
  std::int64_t top_k = kByteValues;  ///< only so many of the most probable bytes are drawn from; at least 1
  std::uint64_t seed = 0;
};

/// Draws a byte by its logit of `logits`, [256]; of equal ones the smaller byte counts as more probable. A pure
/// function of what it is given: `position`, the number of bytes before this one, makes draws differ. Throws Error
/// where the logits are NaN, or none is finite.
std::uint8_t choose_byte(std::span<const float> logits, const Sampling& sampling, std::uint64_t position);

/// Continues a text by the next byte, with the model of a run that was trained on data of format text: one window of
/// bytes on one replica, so that the text does not depend on how many the run has.
class TextGenerator {
 public:
  /// `name`: what messages call the run. Throws UsageError where the model does not take a window of bytes or does not
  /// give a class of 256 for every position, and what run_to_predict throws.
  TextGenerator(CheckedConfiguration checked, data::Adapted adapted, std::string name);

  /// Ready but for the variables' values.
  Strategy& strategy() { return *run_.strategy; }
  std::int64_t window() const { return window_; }

  /// Gives `tokens` bytes, one after the other, to `take` until it returns false. The model sees the last window()
  /// bytes of the text so far. `prompt` is not empty. Throws UsageError for a model that is not causal, Error for one
  /// whose outputs are not finite.
  void generate(std::string prompt, std::int64_t tokens, const Sampling& sampling,
                const std::function<bool(std::uint8_t)>& take);

 private:
  std::span<const float> outputs_of(std::span<const std::uint8_t> window);
  void require_causal();
  std::vector<float> next_logits(const std::string& text);

  CheckedConfiguration checked_;
  std::string name_;
  OutputMeaning meaning_;
  std::int64_t window_;
  Run run_;  ///< its one example is the window
  std::vector<float> outputs_;
};

}  // namespace mirrortrain
