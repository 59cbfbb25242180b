#include "data/reading/example_maker.h"

#include <algorithm>
#include <array>

namespace mirrortrain::data {
namespace {

std::vector<PreprocessingStep>::const_iterator first_of_pictures(const std::vector<PreprocessingStep>& steps) {
  return std::ranges::find_if(steps, is_of_pictures);
}

Affine before_pictures(const std::vector<PreprocessingStep>& steps) {
  return fold(std::span(steps.begin(), first_of_pictures(steps)));
}

std::vector<float>& scratch(std::size_t which, std::int64_t elements) {
  thread_local std::array<std::vector<float>, 2> vectors;
  vectors[which].resize(static_cast<std::size_t>(elements));
  return vectors[which];
}

}  // namespace

ExampleMaker::ExampleMaker(const Dataset& dataset, std::size_t input, const std::vector<PreprocessingStep>& steps,
                           std::uint64_t seed, StallWatch* watch)
    : dataset_(dataset),
      input_(input),
      scale_(dataset_.features(input), before_pictures(steps), DType::kFloat32),
      scales_(dataset_.source(input) == nullptr || first_of_pictures(steps) != steps.begin()),
      watch_(watch),
      pictures_({first_of_pictures(steps), steps.end()}, dataset_.features(input).row_shape(), seed) {
  const Array& from = dataset_.features(input);
  features_.shape = shape_after(steps, from.row_shape()).with_rows(from.rows());
  features_.origin = from.origin;
}

void ExampleMaker::will_read(std::int64_t first, std::int64_t count) const {
  first += dataset_.first_row();
  const Array& from = dataset_.features(input_);
  if (const ExampleSource* const source = dataset_.source(input_)) {
    for (std::int64_t row = first; row < first + count; ++row) source->will_read(row);
  } else if (from.is_by_position()) {
    from.stored->will_read(first, count);
  }
}

void ExampleMaker::make(const ExampleKey& key, std::span<float> to) const {
  const Array& from = dataset_.features(input_);
  const std::int64_t elements = from.row_elements(), row = dataset_.first_row() + key.row;
  const float* pixels = nullptr;
  if (const ExampleSource* const source = dataset_.source(input_)) {
    const StallWatch::Reading reading(watch_, *source, row);
    if (!scales_ && pictures_.empty()) return source->read(row, to);
    if (const auto window = scales_ ? std::nullopt : pictures_.first_window(key.row, key.epoch)) {
      std::vector<float>& part = scratch(0, pictures_.most_elements());
      if (source->read_window(row, *window, part)) {
        return pictures_.apply_behind_first(key.row, key.epoch, part.data(), to.data());
      }
    }
    std::vector<float>& read = scratch(0, elements);
    source->read(row, read);
    pixels = read.data();
  }
  if (scales_) {
    thread_local std::vector<std::byte> stored;
    const StallWatch::Reading reading(from.is_by_position() ? watch_ : nullptr, from, row);
    const auto* const bytes =
        pixels != nullptr ? reinterpret_cast<const std::byte*>(pixels) : from.rows_at(row, 1, stored);
    float* const scaled = pictures_.empty() ? to.data() : scratch(1, elements).data();
    scale_.convert_row(bytes, reinterpret_cast<std::byte*>(scaled));
    pixels = scaled;
  }
  if (!pictures_.empty()) pictures_.apply(key.row, key.epoch, pixels, to.data());
}

}  // namespace mirrortrain::data
