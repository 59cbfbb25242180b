#include "data/pictures/picture_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>
#include <variant>

#include "data/pictures/step_shapes.h"
#include "data/preprocessing/distributions.h"

namespace mirrortrain::data {

Bounds bounds_from(const Factor& factor, double least) {
  const Bounds bounds = bounds_of(factor);
  return std::holds_alternative<double>(factor) ? Bounds{std::max(bounds.lower, least), bounds.upper} : bounds;
}

bool is_chosen(const Draw& draw, const Bounds& probability) {
  return draw.between(0, 0, 1) < draw.between(1, probability.lower, probability.upper);
}

PictureSteps::PictureSteps(const std::vector<PreprocessingStep>& steps, const Shape& example, std::uint64_t seed)
    : most_elements_(example.elements()) {
  Shape shape = example;
  std::map<std::string_view, int> uses;
  for (const PreprocessingStep& step : steps) {
    shape = shape_after(step, shape);
    const std::string_view name = step_name(step);
    const Extents from = steps_.empty() ? extents_of_picture(example) : steps_.back().step->result();
    auto ready = make_picture_step(step, from);
    if (!ready) continue;
    most_elements_ = std::max(most_elements_, ready->result().elements());
    // Named by its type, so that other transforms before it do not change its random numbers.
    const std::uint64_t stream = hash_of_name(fmt::format("{} {}", name, uses[name]++));
    steps_.push_back({Philox::with_key(seed ^ stream), std::move(ready)});
  }
}

Draw PictureSteps::draw_of(const Step& step, std::int64_t example, std::int64_t epoch) {
  Draw draw;
  draw.trains = epoch > 0;
  if (draw.trains) draw.words = words_of(step.random, example, epoch);
  return draw;
}

std::optional<PictureWindow> PictureSteps::first_window(std::int64_t example, std::int64_t epoch) const {
  if (steps_.empty()) return std::nullopt;
  return steps_.front().step->window(draw_of(steps_.front(), example, epoch));
}

void PictureSteps::apply(std::int64_t example, std::int64_t epoch, const float* from, float* to) const {
  apply(0, example, epoch, from, to);
}

void PictureSteps::apply_behind_first(std::int64_t example, std::int64_t epoch, const float* from, float* to) const {
  apply(1, example, epoch, from, to);
}

void PictureSteps::apply(std::size_t first, std::int64_t example, std::int64_t epoch, const float* from,
                         float* to) const {
  thread_local std::array<std::vector<float>, 2> between;
  const PictureStep* last = nullptr;  // the last that acts
  Draw last_draw;
  std::size_t applied = 0;
  for (const Step& one : std::span(steps_).subspan(first)) {
    const Draw draw = draw_of(one, example, epoch);
    if (!one.step->acts(draw)) continue;
    if (last != nullptr) {
      std::vector<float>& buffer = between[applied++ % 2];
      buffer.resize(static_cast<std::size_t>(most_elements_));
      last->apply(last_draw, from, buffer.data());
      from = buffer.data();
    }
    last = one.step.get();
    last_draw = draw;
  }
  if (last == nullptr) {
    std::memcpy(to, from, static_cast<std::size_t>(steps_.back().step->result().elements()) * sizeof(float));
  } else {
    last->apply(last_draw, from, to);
  }
}

}  // namespace mirrortrain::data
