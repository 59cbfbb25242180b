#include "data/feeding/mixed_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "data/pictures/picture_steps.h"
#include "data/preprocessing/distributions.h"

namespace mirrortrain::data {

void blend(std::span<float> to, std::span<const float> other, float weight) {
  const float rest = 1 - weight;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = weight * to[i] + rest * other[i];
}

void cut(std::span<float> to, std::span<const float> other, const Extents& picture, const CutWindow& window) {
  // The pixels at start <= i < start + length, as Keras takes them.
  const auto range = [&](std::int64_t extent, float place) {
    const auto whole = static_cast<float>(extent);
    const float length = window.side * whole, start = place * (whole - length);
    const auto first = static_cast<std::int64_t>(std::ceil(start)),
               end = static_cast<std::int64_t>(std::ceil(start + length));
    return std::pair(std::min(first, extent), std::min(end, extent));
  };
  const auto [top, bottom] = range(picture.height, window.down);
  const auto [left, right] = range(picture.width, window.right);
  for (std::int64_t row = top; row < bottom; ++row) {
    const std::int64_t first = (row * picture.width + left) * picture.channels;
    std::copy_n(other.begin() + first, (right - left) * picture.channels, to.begin() + first);
  }
}

namespace {

void mix_weights(std::span<float> to, std::span<const float> other, float weight) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = to[i] == 0 || other[i] == 0 ? 0 : weight * to[i] + (1 - weight) * other[i];
  }
}

/// `window`: of cut_mix, else null.
void mix(const MixingStep& step, std::span<float> to, std::span<const float> other, float weight,
         const CutWindow* window) {
  for (const MixedNumbers& numbers : step.numbers) {
    const auto own = to.subspan(numbers.first, numbers.count);
    const auto others = other.subspan(numbers.first, numbers.count);
    if (numbers.are_weights) {
      mix_weights(own, others, weight);
    } else if (window != nullptr && numbers.picture.elements() > 0) {
      cut(own, others, numbers.picture, *window);
    } else {
      blend(own, others, weight);
    }
  }
}

}  // namespace

/// What is drawn for a batch.
struct MixedExamples::Batch {
  struct Drawn {
    std::vector<std::uint32_t> partners;  ///< positions in the batch
    double alpha = 0;
  };
  std::span<const std::int64_t> rows;
  std::int64_t epoch = 0;
  std::vector<Drawn> of_steps;
  std::vector<std::vector<float>> partner;  ///< for each step, an example before it
};

MixedExamples::MixedExamples(const std::vector<MixingStep>& steps, std::size_t elements, std::uint64_t seed)
    : elements_(elements) {
  std::map<std::string_view, int> uses;
  for (const MixingStep& step : steps) {
    const std::string_view name = config::visit([](const auto& held) { return held.kName; }, step.step);
    const int use = uses[name]++;
    const auto stream = [&](std::string_view of) {
      return Philox::with_key(seed ^ hash_of_name(fmt::format("{} {} of {}", name, use, of)));
    };
    steps_.push_back({step, stream("batches"), stream("rows")});
  }
}

void MixedExamples::draw(const BatchPart& part, std::int64_t epoch, Batch& batch) const {
  batch.rows = part.batch;
  batch.epoch = epoch;
  batch.of_steps.resize(steps_.size());
  batch.partner.resize(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    // A batch is known by its first row, which an epoch visits once.
    RandomNumbers random(steps_[i].of_batches, batch.rows.front(), epoch);
    auto& [partners, alpha] = batch.of_steps[i];
    if (const auto* const cut_mix = config::get_if<CutMix>(&steps_[i].step.step)) {
      const Bounds factor = bounds_from(cut_mix->factor);
      alpha = factor.lower + (factor.upper - factor.lower) * random.uniform() + 1e-6;
    } else {
      alpha = config::get<MixUp>(steps_[i].step.step).alpha;
    }
    partners.resize(batch.rows.size());
    std::iota(partners.begin(), partners.end(), 0u);
    for (std::size_t left = partners.size(); left > 1; --left) {
      std::swap(partners[left - 1], partners[random.below(left)]);
    }
    batch.partner[i].resize(elements_);
  }
}

/// The example at a position after so many of the steps.
void MixedExamples::make(std::size_t steps, std::size_t position, Batch& batch, const Read& read,
                         std::span<float> to) const {
  if (steps == 0) return read(batch.rows[position], to);
  const std::size_t last = steps - 1;
  make(last, position, batch, read, to);
  const auto& [partners, alpha] = batch.of_steps[last];
  if (partners[position] == position) return;
  const std::span<float> other = batch.partner[last];
  make(last, partners[position], batch, read, other);
  RandomNumbers random(steps_[last].of_rows, batch.rows[position], batch.epoch);
  const double weight = random.beta(alpha);
  if (config::holds_alternative<CutMix>(steps_[last].step.step)) {
    CutWindow window{static_cast<float>(std::sqrt(1 - weight))};
    window.down = static_cast<float>(random.uniform());
    window.right = static_cast<float>(random.uniform());
    mix(steps_[last].step, to, other, static_cast<float>(weight), &window);
  } else {
    mix(steps_[last].step, to, other, static_cast<float>(weight), nullptr);
  }
}

void MixedExamples::make(const BatchPart& part, std::int64_t epoch, const Read& read, const Use& use) const {
  if (part.count == 0) return;
  thread_local Batch batch;
  thread_local std::vector<float> example;
  draw(part, epoch, batch);
  example.resize(elements_);
  for (std::size_t at = 0; at < part.count; ++at) {
    make(epoch > 0 ? steps_.size() : 0, part.first + at, batch, read, example);
    use(at, example);
  }
}

void MixedExamples::append(std::size_t steps, std::size_t position, const Batch& batch,
                           std::vector<std::int64_t>& rows) {
  if (steps == 0) return rows.push_back(batch.rows[position]);
  append(steps - 1, position, batch, rows);
  const std::size_t partner = batch.of_steps[steps - 1].partners[position];
  if (partner != position) append(steps - 1, partner, batch, rows);
}

void MixedExamples::append_rows(const BatchPart& part, std::int64_t epoch, std::vector<std::int64_t>& rows) const {
  if (part.count == 0) return;
  thread_local Batch batch;
  draw(part, epoch, batch);
  for (std::size_t at = 0; at < part.count; ++at) {
    append(epoch > 0 ? steps_.size() : 0, part.first + at, batch, rows);
  }
}

}  // namespace mirrortrain::data
