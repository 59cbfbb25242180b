#include "train/inference/worst_mistakes.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "data/feeding/example_picture.h"

namespace mirrortrain {
namespace {

/// Maximum side length of an image on a page: more would only make the page larger.
constexpr std::int64_t kMostPixels = 128;

}  // namespace

void WorstMistakes::add(std::int64_t row, std::int64_t truth, std::span<const float> output) {
  const std::int64_t predicted = meaning_.class_of(output);
  if (predicted == truth || truth == meaning_.ignored_label) return;
  const double probability = meaning_.probability_of_class(output);
  const Wrong wrong{std::isnan(probability) ? 0 : probability, row, truth, predicted};
  worst_.insert(std::ranges::upper_bound(worst_, wrong.probability, std::ranges::greater(), &Wrong::probability),
                wrong);
  if (worst_.size() > kMost) worst_.pop_back();
}

std::string WorstMistakes::label_of(std::int64_t number) const {
  const std::string name = meaning_.name_of(number);
  return name.empty() ? std::to_string(number) : name;
}

std::vector<report::Mistake> WorstMistakes::pictures(const data::Dataset& dataset, std::size_t input) const {
  std::vector<report::Mistake> mistakes;
  for (const Wrong& wrong : worst_) {
    mistakes.push_back({data::encode_png(data::picture_of(dataset, input, wrong.row, kMostPixels)),
                        label_of(wrong.truth), label_of(wrong.predicted), wrong.probability, wrong.row});
  }
  return mistakes;
}

}  // namespace mirrortrain
