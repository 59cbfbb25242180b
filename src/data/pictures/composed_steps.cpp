#include "data/pictures/composed_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "data/preprocessing/distributions.h"

namespace mirrortrain::data {
namespace {

template <class Step>
Step with_factor(const std::array<double, 2>& factor) {
  Step step;
  step.factor.value = factor;
  return step;
}

template <class Step>
Step of_range(Step step, const Composed& options) {
  step.value_range = options.value_range;
  return step;
}

/// Those that move pixels, then the others that aug_mix always has, then the rest.
std::vector<PreprocessingStep> parts_of(const Composed& options, bool all) {
  const Bounds strength = bounds_from(options.factor.value);
  const std::array factor{strength.lower, strength.upper};
  RandomShear shear;
  shear.x_factor.value = factor;
  shear.y_factor = factor;
  shear.interpolation = options.interpolation;
  RandomTranslation translation;
  translation.height_factor.value = factor;
  translation.width_factor = factor;
  translation.interpolation = options.interpolation;
  auto rotation = with_factor<RandomRotation>(factor);
  rotation.interpolation = options.interpolation;
  RandomPosterization posterization;
  posterization.factor.value = std::max(1.0, std::floor(8 * factor[1]));
  Solarization solarization;
  solarization.addition_factor = factor;
  solarization.threshold_factor = factor;
  std::vector<PreprocessingStep> parts{shear,
                                       translation,
                                       rotation,
                                       of_range(posterization, options),
                                       of_range(solarization, options),
                                       of_range(AutoContrast(), options),
                                       of_range(Equalization(), options)};
  if (!all) return parts;
  parts.emplace_back(of_range(with_factor<RandomBrightness>(factor), options));
  parts.emplace_back(of_range(with_factor<RandomColorDegeneration>(factor), options));
  parts.emplace_back(of_range(with_factor<RandomContrast>(factor), options));
  parts.emplace_back(of_range(with_factor<RandomSharpness>(factor), options));
  return parts;
}

/// The transforms of which others are composed.
class Parts {
 public:
  Parts(const Composed& options, bool all, const Extents& from) {
    for (const PreprocessingStep& part : parts_of(options, all)) {
      const bool is_left_out = options.moves_only && is_of_colors(part);
      steps_.push_back(is_left_out ? nullptr : make_picture_step(part, from));
    }
  }

  std::size_t count() const { return steps_.size(); }
  /// Changes a picture in place. `other`: memory of the same size.
  void apply(std::size_t part, const Draw& draw, std::vector<float>& picture, std::vector<float>& other) const {
    const PictureStep* const step = steps_[part].get();
    if (step == nullptr || !step->acts(draw)) return;
    step->apply(draw, picture.data(), other.data());
    picture.swap(other);
  }

 private:
  std::vector<std::unique_ptr<PictureStep>> steps_;  ///< null: no change
};

/// What a part draws; `use` distinguishes draws of one part.
Draw draw_of_part(const Draw& draw, std::size_t part, std::size_t use) {
  const Philox random{draw.words.word[2], draw.words.word[3]};
  return {draw.trains, random(static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(use), 1, 0)};
}

class Augment : public PictureStep {
 public:
  Augment(const RandAugment& step, const Extents& from)
      : PictureStep(from), parts_(step, true, from), num_ops_(step.num_ops) {}
  bool acts(const Draw& draw) const override { return draw.trains; }
  void apply(const Draw& draw, const float* from, float* to) const override {
    thread_local std::vector<float> picture, other;
    picture.assign(from, from + result().elements());
    other.resize(picture.size());
    RandomNumbers random(draw.words.word[0], draw.words.word[1]);
    for (std::int64_t i = 0; i < num_ops_; ++i) {
      const std::size_t part = random.below(parts_.count());
      parts_.apply(part, draw_of_part(draw, part, 0), picture, other);  // twice the same draws once, as Keras has it
    }
    std::ranges::copy(picture, to);
  }

 private:
  Parts parts_;
  std::int64_t num_ops_;
};

class MixOfChains : public PictureStep {
 public:
  MixOfChains(const AugMix& step, const Extents& from)
      : PictureStep(from), parts_(step, step.all_ops, from), options_(step) {}
  bool acts(const Draw& draw) const override { return draw.trains; }
  void apply(const Draw& draw, const float* from, float* to) const override {
    thread_local std::vector<float> picture, other, sum;
    const auto size = static_cast<std::size_t>(result().elements());
    other.resize(size);
    sum.assign(size, 0);
    RandomNumbers random(draw.words.word[0], draw.words.word[1]);
    const std::vector<float> weights = draw_weights(random);
    const auto own = static_cast<float>(random.beta(options_.alpha));
    std::size_t use = 0;
    for (const float weight : weights) {
      picture.assign(from, from + size);
      for (std::int64_t i = 0; i < options_.chain_depth; ++i, ++use) {
        const std::size_t part = random.below(parts_.count() + 1);  // one more: none
        if (part < parts_.count()) parts_.apply(part, draw_of_part(draw, part, use), picture, other);
      }
      for (std::size_t i = 0; i < size; ++i) sum[i] += weight * picture[i];
    }
    const auto least = static_cast<float>(options_.value_range[0]),
               largest = static_cast<float>(options_.value_range[1]);
    for (std::size_t i = 0; i < size; ++i) to[i] = std::clamp(own * from[i] + (1 - own) * sum[i], least, largest);
  }

 private:
  /// From a Dirichlet distribution.
  std::vector<float> draw_weights(RandomNumbers& random) const {
    std::vector<double> logs;
    for (std::int64_t i = 0; i < options_.num_chains; ++i) logs.push_back(random.log_gamma(options_.alpha));
    const double largest = *std::ranges::max_element(logs);
    double sum = 0;
    for (const double log : logs) sum += std::exp(log - largest);
    std::vector<float> weights;
    for (const double log : logs) weights.push_back(static_cast<float>(std::exp(log - largest) / sum));
    return weights;
  }

  Parts parts_;
  AugMix options_;
};

}  // namespace

std::unique_ptr<PictureStep> make_composed(const RandAugment& step, const Extents& from) {
  return std::make_unique<Augment>(step, from);
}

std::unique_ptr<PictureStep> make_composed(const AugMix& step, const Extents& from) {
  return std::make_unique<MixOfChains>(step, from);
}

}  // namespace mirrortrain::data
