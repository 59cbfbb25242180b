#include "data/feeding/feeder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "data/reading/bins.h"
#include "data/wrong_numbers.h"

namespace mirrortrain::data {
namespace {

void require(const std::string& origin, const std::string& mismatch) {
  if (!mismatch.empty()) throw Error(fmt::format("{}: {}", origin, mismatch));
}

void require_shape(const std::string& origin, const std::string& mismatch) {
  if (!mismatch.empty()) throw ShapeMismatch(origin, mismatch);
}

/// The elements of a row that a tensor of these rows has place for.
std::int64_t taken_of(const TensorView& to, std::size_t rows) {
  return to.elements() / static_cast<std::int64_t>(rows);
}

/// One number for each of the rows; `to` may be null.
void copy_numbers(std::span<const std::int64_t> rows, std::span<const float> from, float* to) {
  if (to == nullptr) return;
  std::ranges::transform(rows, to, [&](std::int64_t row) { return from[static_cast<std::size_t>(row)]; });
}

}  // namespace

Feeder::Feeder(const Dataset& dataset, const std::vector<PreprocessingStep>& preprocessing, const ExampleSpec& spec,
               const FeederOptions& options)
    : dataset_(dataset) {
  std::vector<std::vector<PreprocessingStep>> acting;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const std::string& name = spec.inputs[i].name;
    const std::vector<PreprocessingStep> steps = steps_of_input(preprocessing, name);
    Binned binned = with_bins(dataset_, i, steps, spec.inputs[i].shape);
    dataset_ = std::move(binned.dataset);
    acting.push_back(acting_steps(binned.rest, dataset_.features(i).row_shape(), spec.inputs[i].shape, options.trains));
    const std::size_t after = steps.size() - steps_before_mixing(preprocessing, name);  // which are of single numbers
    const bool is_mixed = options.trains && find_mixing(preprocessing, name) != nullptr;
    add_input(i, acting.back(), is_mixed ? std::optional(acting.back().size() - after) : std::nullopt, spec.inputs[i],
              options);
  }
  const Wanted wanted = wanted_by(&spec, preprocessing);
  for (std::size_t i = 0; i < spec.labels.size(); ++i) add_output(i, acting, wanted, options);
  // Last, as it reads all rows.
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const auto wrong = find_wrong_feature(dataset_, i, spec.inputs[i]);
    if (wrong) require(dataset_.features(i).row_text(wrong->row), wrong->message);
  }
  if (!options.bucket_boundaries.empty()) {
    buckets_ = LengthBuckets(dataset_, inputs_.front().to_float32, options.bucket_boundaries);
  }
  const auto is_random = [](const PreprocessingStep& step) {
    const bool resizes = config::holds_alternative<Resizing>(step) || config::holds_alternative<CenterCrop>(step);
    return is_of_pictures(step) && !resizes && !always_acts(step);
  };
  const bool are_the_same = !options.trains || std::ranges::none_of(acting, [&](const auto& steps) {
    return std::ranges::any_of(steps, is_random);
  });
  RowsAhead::Options ahead = options.ahead;
  if (are_the_same) ahead.rows = dataset_.rows();
  read_ahead(ahead, options.watch);
  if (options.trains) mix(preprocessing, spec, options);
}

/// `before_mixing`: how many of the transforms come before the features are mixed; none if they are not.
void Feeder::add_input(std::size_t number, const std::vector<PreprocessingStep>& acting,
                       std::optional<std::size_t> before_mixing, const InputSpec& spec, const FeederOptions& options) {
  const Array& read = dataset_.features(number);
  // Transforms up to the last one of pictures, or up to mixing, compute examples one by one; those on single numbers
  // after it are folded.
  const auto last_of_pictures = std::find_if(acting.rbegin(), acting.rend(), is_of_pictures).base();
  const auto last = std::max(last_of_pictures, acting.begin() + static_cast<std::ptrdiff_t>(before_mixing.value_or(0)));
  const std::vector<PreprocessingStep> making(acting.begin(), last), single(last, acting.end());
  const Shape example = shape_after(acting, read.row_shape());
  Affine affine = fold(single);
  const std::string made = example == read.row_shape() ? "" : " after data.preprocessing";
  require_shape(read.origin + made,
                features_mismatch(example, spec, dataset_.source(number) != nullptr && made.empty()));
  if (dataset_.source(number) != nullptr && spec.numbers_below > 0) {
    throw Error(
        fmt::format("{}: pictures are decoded while the run continues, and an embedding needs whole numbers; "
                    "begin the model with another layer",
                    read.origin));
  }
  const bool in_memory = dataset_.source(number) == nullptr && !read.is_by_position();
  const bool are_numbers = dataset_.source(number) == nullptr;
  const bool is_as_stored = are_numbers && making.empty() && !before_mixing;
  auto maker = is_as_stored
                   ? nullptr
                   : std::make_shared<const ExampleMaker>(dataset_, number, making, options.seed, options.watch);
  const Array& from = maker ? maker->features() : read;
  inputs_.push_back(
      {affine, maker, RowConverter(from, affine, DType::kFloat32), RowConverter(from, affine, DType::kBfloat16)});
  // What takes no time needs no thread of its own.
  inputs_.back().is_ahead = !in_memory || (maker && last_of_pictures != acting.begin());
}

void Feeder::add_output(std::size_t number, const std::vector<std::vector<PreprocessingStep>>& acting,
                        const Wanted& wanted, const FeederOptions& options) {
  const Array& read = dataset_.labels(number);
  const LabelSpec& spec = wanted.spec->labels[number];
  std::shared_ptr<const LabelPictures> pictures;
  for (std::size_t input = 0; input < acting.size(); ++input) {
    auto with_input =
        std::make_shared<const LabelPictures>(dataset_, input, acting[input], number, wanted, options.seed);
    if (pictures && !pictures->empty() && !with_input->empty()) {
      throw Error(
          fmt::format("{}: the labels are pictures, and the pictures of several inputs are moved, so that it is "
                      "unknown with which one they go; move those of one input alone",
                      read.origin));
    }
    if (!pictures || !with_input->empty()) pictures = std::move(with_input);
  }
  const Shape label = pictures->labels().row_shape();
  require_shape(read.origin + (label == read.row_shape() ? "" : " after data.preprocessing"),
                labels_mismatch(label, number, wanted));
  if (const auto wrong = find_wrong_label(dataset_, number, wanted)) require(read.row_text(wrong->row), wrong->message);
  const std::int64_t depth = wanted.one_hot_depth(number);
  LabelConverter converter(pictures->labels(), spec.dtype, depth);
  const ClassWeights classes = number < options.classes.size() ? options.classes[number] : ClassWeights();
  outputs_.push_back({depth, std::move(pictures), std::move(converter),
                      spec.weighted ? weights_of(dataset_, number, classes) : std::vector<float>(),
                      spec.may_be_missing ? presence_of(dataset_, number) : std::vector<float>()});
  std::vector<std::int64_t> mixed = outputs_.back().pictures->labels().shape.dims();
  if (depth > 0) mixed.push_back(depth);
  outputs_.back().is_ahead = !outputs_.back().pictures->empty() || read.is_by_position();
  outputs_.back().mixed.dtype = spec.dtype;
  outputs_.back().mixed.shape = Shape(std::move(mixed));
  outputs_.back().mixed.origin = read.origin;
}

void Feeder::read_ahead(const RowsAhead::Options& options, StallWatch* watch) {
  using Make = std::function<void(const ExampleKey&, std::span<float>)>;
  std::vector<std::pair<std::size_t, Make>> makes;  // with the numbers that each writes
  std::vector<RowsAhead::Announce> announces;
  std::size_t elements = 0;
  const auto announce_stored = [&](const Array& array) {
    if (!array.is_by_position()) return;
    announces.emplace_back([rows = array.stored, view = dataset_.first_row()](std::int64_t first, std::int64_t count) {
      rows->will_read(view + first, count);
    });
  };
  const auto add = [&](std::size_t& made_at, std::size_t count, Make make) {
    made_at = elements;
    makes.emplace_back(count, std::move(make));
    elements += count;
  };
  // As they are stored: the first bytes of as many floats, whose place is that of any type.
  const auto add_stored = [&](std::size_t& made_at, const Array& array) {
    constexpr std::size_t kAlignment = alignof(std::int64_t) / sizeof(float);
    if (elements % kAlignment != 0) add(made_at, kAlignment - elements % kAlignment, [](const auto&, const auto&) {});
    const std::size_t floats = (array.row_bytes() + sizeof(float) - 1) / sizeof(float);
    const std::shared_ptr<const Array> rows = std::make_shared<Array>(array.shared());
    add(made_at, floats, [rows, first = dataset_.first_row(), watch](const ExampleKey& key, std::span<float> to) {
      const StallWatch::Reading reading(watch, *rows, first + key.row);
      rows->stored->read(first + key.row, 1, std::as_writable_bytes(to).data());
    });
    announce_stored(array);
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    if (!input.is_ahead) continue;
    if (!input.maker) {
      add_stored(input.made_at, dataset_.features(i));
    } else {
      add(input.made_at, static_cast<std::size_t>(input.maker->features().row_elements()),
          [maker = input.maker](const ExampleKey& key, std::span<float> to) { maker->make(key, to); });
      announces.emplace_back(
          [maker = input.maker](std::int64_t first, std::int64_t count) { maker->will_read(first, count); });
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    if (!output.is_ahead) continue;
    if (output.pictures->empty()) {
      add_stored(output.made_at, dataset_.labels(i));
    } else {
      add(output.made_at, static_cast<std::size_t>(output.pictures->labels().row_elements()),
          [pictures = output.pictures](const ExampleKey& key, std::span<float> to) { pictures->make(key, to); });
      announce_stored(dataset_.labels(i));
    }
  }
  if (makes.empty()) return;
  ahead_ = std::make_shared<RowsAhead>(
      [makes](const ExampleKey& key, std::span<float> to) {
        for (const auto& [count, make] : makes) {
          make(key, to.first(count));
          to = to.subspan(count);
        }
      },
      elements, options,
      [announces](std::int64_t first, std::int64_t count) {
        for (const RowsAhead::Announce& announce : announces) announce(first, count);
      });
  ahead_elements_ = elements;
}

const Array& Feeder::features(std::size_t input) const {
  return inputs_[input].maker ? inputs_[input].maker->features() : dataset_.features(input);
}

const Array& Feeder::labels(std::size_t output) const {
  return mixed_.empty() ? outputs_[output].pictures->labels() : outputs_[output].mixed;
}

void Feeder::append_rows(const BatchPart& part, std::int64_t epoch, std::vector<std::int64_t>& rows) const {
  if (!mixed_.empty()) return mixed_.append_rows(part, epoch, rows);
  rows.insert(rows.end(), part.rows().begin(), part.rows().end());
}

void Feeder::expect(std::span<const std::int64_t> rows, std::int64_t epoch) const {
  if (ahead_) ahead_->expect(rows, epoch);
}

void Feeder::copy_examples(const BatchPart& part, std::span<std::byte* const> to_inputs,
                           std::span<const LabelCopies> to_outputs, std::int64_t epoch) const {
  if (!mixed_.empty()) return copy_mixed(part, to_inputs, to_outputs, epoch);
  const std::span<const std::int64_t> rows = part.rows();
  const auto copy_stored = [&](const Array& array, std::byte* to) {
    const RowSource from(array);
    for (const std::int64_t row : rows) {
      std::memcpy(to, from.data + static_cast<std::size_t>(dataset_.first_row() + row) * from.bytes, from.bytes);
      to += from.bytes;
    }
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_stored()) copy_stored(features(i), to_inputs[i]);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!outputs_[i].is_ahead) copy_stored(labels(i), to_outputs[i].labels);
    copy_numbers(rows, outputs_[i].weights, to_outputs[i].weights);
    copy_numbers(rows, outputs_[i].present, to_outputs[i].present);
  }
  if (!ahead_) return;
  ahead_->take_all(rows, epoch, [&](std::size_t at, std::span<const float> made) {
    const auto copy_made = [&](const Array& array, std::size_t made_at, std::byte* to) {
      const std::size_t bytes = RowSource(array).bytes;
      std::memcpy(to + at * bytes, made.data() + made_at, bytes);
    };
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].is_ahead) copy_made(features(i), inputs_[i].made_at, to_inputs[i]);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].is_ahead) copy_made(labels(i), outputs_[i].made_at, to_outputs[i].labels);
    }
  });
}

const RowConverter& Feeder::converter(std::size_t input, const TensorView& to) const {
  return to.dtype == DType::kBfloat16 ? inputs_[input].to_bfloat16 : inputs_[input].to_float32;
}

void Feeder::fill_input(std::size_t input, std::span<const std::int64_t> rows, const TensorView& to) const {
  converter(input, to)(dataset_.first_row(), rows, to.data, taken_of(to, rows.size()));
}

void Feeder::fill(const BatchPart& part, const BatchBuffers& to, std::int64_t epoch) const {
  if (part.count == 0) return;
  if (!mixed_.empty()) return fill_mixed(part, to, epoch);
  const std::span<const std::int64_t> rows = part.rows();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_stored()) fill_input(i, rows, to.inputs[i]);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const auto& [labels, weights, present] = to.outputs[i];
    const Output& output = outputs_[i];
    if (!output.is_ahead) {
      output.converter(dataset_.first_row(), rows, labels.data,
                       taken_of(labels, rows.size()) / std::max<std::int64_t>(output.one_hot_depth, 1));
    }
    copy_numbers(rows, output.weights, weights);
    copy_numbers(rows, output.present, present);
  }
  if (!ahead_) return;
  ahead_->take_all(rows, epoch, [&](std::size_t at, std::span<const float> made) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(made.data());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is_ahead) continue;
      const std::int64_t taken = taken_of(to.inputs[i], rows.size());
      const std::size_t row_bytes = static_cast<std::size_t>(taken) * size_of(to.inputs[i].dtype);
      converter(i, to.inputs[i])
          .convert_row(bytes + inputs_[i].made_at * sizeof(float), to.inputs[i].data + at * row_bytes, taken);
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].is_ahead) continue;
      const TensorView& labels = to.outputs[i].labels;
      const std::int64_t taken = taken_of(labels, rows.size());
      const std::size_t row_bytes = static_cast<std::size_t>(taken) * size_of(labels.dtype);
      outputs_[i].converter.convert_row(bytes + outputs_[i].made_at * sizeof(float), labels.data + at * row_bytes,
                                        taken / std::max<std::int64_t>(outputs_[i].one_hot_depth, 1));
    }
  });
}

}  // namespace mirrortrain::data
