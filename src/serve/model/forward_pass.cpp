#include "serve/model/forward_pass.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/philox.h"
#include "train/inference/predict.h"
#include "train/runs/run_weights.h"

namespace mirrortrain {
namespace {

/// Sizes of batches that are tried, beside the largest and that of `predict`.
constexpr std::int64_t kBatches[] = {1, 4, 16};

std::vector<std::int64_t> other_batches(std::int64_t most_rows) {
  std::vector<std::int64_t> batches{most_rows};
  std::ranges::copy_if(kBatches, std::back_inserter(batches), [&](std::int64_t batch) { return batch < most_rows; });
  return batches;
}

/// Examples as the model takes them: ones, which every input may have, as words and as numbers.
data::Dataset places_of(const data::ExampleSpec& spec, std::int64_t rows) {
  const auto filled = [&](const Shape& shape, const std::string& name, float value) {
    data::Array array(DType::kFloat32, shape.with_rows(rows), name);
    std::ranges::fill(array.span<float>(), value);
    return array;
  };
  data::Examples examples;
  for (const data::InputSpec& input : spec.inputs) {
    examples.inputs.push_back({input.name, filled(input.shape, input.name, input.numbers_below == 1 ? 0.0f : 1.0f)});
  }
  for (const data::LabelSpec& label : spec.labels) {
    examples.outputs.push_back({label.name, filled(label.shape, label.name, 0.0f)});
  }
  return data::Dataset(std::move(examples));
}

Run run_of(const CheckedConfiguration& checked, std::int64_t rows) {
  return run_to_predict(checked, places_of(checked.examples, rows), {},
                        {.other_batches = other_batches(rows), .are_ready = true});
}

}  // namespace

ForwardPass::ForwardPass(CheckedConfiguration& checked, const NamedRun& named, std::int64_t most_rows)
    : named_(named),
      specs_(checked.examples.inputs),
      places_(most_rows),
      run_(run_of(fed_by_host(checked), most_rows)) {
  of_predict_ = kPredictedRows * replicas();
  batches_ = other_batches(most_rows);
  batches_.push_back(of_predict_);
  std::ranges::sort(batches_);
  batches_.erase(std::unique(batches_.begin(), batches_.end()), batches_.end());
  for (const PredictedShapes& shapes : run_.strategy->predicted_shapes()) {
    elements_.push_back(shapes.output.elements());
    outputs_.emplace_back(static_cast<std::size_t>(batches_.back() * elements_.back()));
  }
  load();
  keep_batches_of_same_bits();
}

void ForwardPass::load() {
  const RunWeights weights = weights_of(named_);
  load_run_weights(weights, *run_.strategy);
  step_ = weights.step;
  spdlog::info("weights: {}", weights.file.string());
}

std::int64_t ForwardPass::most_rows() const { return std::min(places_, batches_.back()); }

std::int64_t ForwardPass::most_rows_from(std::int64_t place) const {
  return places_matter_ ? std::min(places_, of_predict_ - place % of_predict_) : most_rows();
}

std::span<float> ForwardPass::input(std::size_t number) { return run_.test->dataset().features(number).span<float>(); }

void ForwardPass::compute(std::int64_t rows, std::int64_t place) {
  first_place_ = places_matter_ ? place % of_predict_ : 0;
  const std::int64_t batch = places_matter_ ? of_predict_ : *std::ranges::lower_bound(batches_, rows);
  compute(batch, {.places = first_place_, .rows = 0, .count = rows});
}

std::span<const float> ForwardPass::output(std::size_t number) const {
  return std::span(outputs_[number]).subspan(static_cast<std::size_t>(first_place_ * elements_[number]));
}

/// Other places of the batch are filled with the first row.
void ForwardPass::compute(std::int64_t batch, const Range& range) {
  rows_.assign(static_cast<std::size_t>(batch), 0);
  for (std::int64_t i = 0; i < range.count; ++i) rows_[static_cast<std::size_t>(range.places + i)] = range.rows + i;
  std::vector<PredictedOutput> to;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    to.push_back({std::span(outputs_[i]).first(static_cast<std::size_t>(batch * elements_[i])), {}});
  }
  StepSpec step;
  step.data_set = run_.test.get();
  step.rows = rows_;
  run_.strategy->predict(step, to);
}

/// Numbers of many magnitudes, so that not all outputs are saturated, or words.
void ForwardPass::fill_with_tests() {
  const Philox draw = Philox::with_key(0);
  std::uint32_t counter = 0;
  for (std::size_t i = 0; i < inputs(); ++i) {
    const std::int64_t below = specs_[i].numbers_below;
    const auto elements = static_cast<std::size_t>(input_elements(i));
    const std::span<float> numbers = input(i);
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      const auto uniform = uniform_from_bits(draw(counter++, 0, 0, 0).word[0]);
      const int magnitude = 4 - 2 * static_cast<int>((j / elements) % 8);
      numbers[j] = below > 0 ? std::floor(uniform * static_cast<float>(below)) : std::ldexp(2 * uniform - 1, magnitude);
    }
  }
}

/// The outputs of the first `most` test rows in batches of this size, the first of each batch at a place.
std::vector<std::vector<float>> ForwardPass::test_outputs(std::int64_t batch, std::int64_t place, std::int64_t most) {
  std::vector<std::vector<float>> all(outputs_.size());
  for (std::int64_t first = 0; first < most;) {
    const std::int64_t rows = std::min(batch - place, most - first);
    compute(batch, {.places = place, .rows = first, .count = rows});
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const auto begin = outputs_[i].begin() + place * elements_[i];
      all[i].insert(all[i].end(), begin, begin + rows * elements_[i]);
    }
    first += rows;
  }
  return all;
}

void ForwardPass::keep_batches_of_same_bits() {
  fill_with_tests();
  const std::vector<std::vector<float>> expected = test_outputs(of_predict_, 0, places_);
  const auto are_same = [&](const std::vector<std::vector<float>>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (std::memcmp(found[i].data(), expected[i].data(), found[i].size() * sizeof(float)) != 0) return false;
    }
    return true;
  };
  constexpr std::int64_t kMostPasses = 8;
  std::erase_if(batches_, [&](std::int64_t batch) {
    return batch != of_predict_ && !are_same(test_outputs(batch, 0, std::min(places_, batch * kMostPasses)));
  });
  places_matter_ = !are_same(test_outputs(of_predict_, 1, places_)) ||
                   !are_same(test_outputs(of_predict_, of_predict_ / 2 + 5, places_));
}

}  // namespace mirrortrain
