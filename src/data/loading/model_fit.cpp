#include "data/loading/model_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/key_error.h"
#include "data/loading/label_pictures.h"
#include "data/pictures/picture_steps.h"
#include "data/wrong_numbers.h"

namespace mirrortrain::data {
namespace {

/// [height, width, channels] as [channels, height, width]; other shapes as [0], which matches no data.
Shape channels_first(const Shape& shape) {
  if (shape.rank() != 3) return Shape({0});
  return Shape({shape[2], shape[0], shape[1]});
}

Shape with_depth(const Shape& label, std::int64_t depth) {
  std::vector<std::int64_t> dims = label.dims();
  dims.push_back(depth);
  return Shape(std::move(dims));
}

std::string labels_remedy(const Shape& label, const InputSpec& spec) {
  if (spec.numbers_below > 0 && label.rank() == 1 && label == spec.features && spec.labels.rank() == 0) {
    return "the labels are one for each place of the sequence, but the model has one prediction for all of it: set "
           "return_sequences: true in every lstm and gru, and leave out flatten and pooling layers";
  }
  if (spec.classes > 0 && label == with_depth(spec.labels, spec.classes)) {
    return "the labels are one-hot: take categorical_crossentropy";
  }
  if (spec.labels.rank() > label.rank() && spec.labels.elements() > 1 && (spec.classes > 0 || spec.labels.rank() > 1)) {
    const bool of_pictures = spec.labels.rank() >= (spec.classes > 0 ? 2 : 3);
    return fmt::format("the output has one prediction for each place: add a {} layer before the last dense layer{}",
                       of_pictures ? "flatten or global_average_pooling2d" : "global_average_pooling1d",
                       of_pictures ? "" : "; after lstm or gru, return_sequences: false does it too");
  }
  if (label.rank() >= 2 && spec.labels.rank() <= 1) {
    return "labels of such a shape look like images: are features and labels swapped?";
  }
  if (label.rank() == 0 && spec.classes == 0) {
    return "for class numbers take sparse_categorical_crossentropy, or one_hot in data.preprocessing";
  }
  return "change the last layer, the loss or the labels";
}

}  // namespace

std::string features_mismatch(const Shape& example, const InputSpec& spec) {
  if (same_but_ones(example, spec.features)) return "";
  const std::string found =
      fmt::format("one example has the shape {}, but model.input_shape is {}; ", example.text(), spec.features.text());
  if (spec.trained) {
    return fmt::format(
        "one example has the shape {}, but the model was trained on examples of {}; give data of that "
        "shape",
        example.text(), spec.features.text());
  }
  if (example.rank() == 0 && spec.features.elements() > 1) {
    return found + (spec.features.rank() >= 2
                        ? "these look like labels: are features and labels swapped?"
                        : "are features and labels swapped? if each example is one number, write input_shape: [1]");
  }
  if (example == channels_first(spec.features)) {
    return found + "the data have their channels first: store them as [examples, height, width, channels]";
  }
  if (spec.features == channels_first(example)) {
    return found + fmt::format("channels go last: write input_shape: {}", example.text());
  }
  if (example.rank() == 2 && spec.features.rank() == 3) {
    return found +
           fmt::format("these are pictures of one channel: write input_shape: [{}, {}, 1]", example[0], example[1]);
  }
  return found + fmt::format(
                     "write input_shape: {}, and let a flatten or reshape layer follow where another shape is "
                     "wanted",
                     example.text());
}

std::string channels_mismatch(std::size_t channels, const InputSpec& spec) {
  const std::int64_t wanted = spec.features.rank() == 0 ? 1 : spec.features.back();
  if (channels == 1 || static_cast<std::int64_t>(channels) == wanted) return "";
  return fmt::format("{} channels, but the last axis of model.input_shape {} has {}", channels, spec.features.text(),
                     wanted);
}

std::string labels_mismatch(const Shape& label, std::int64_t depth, const InputSpec& spec) {
  if (depth > 0 && spec.classes > 0) {
    return "one_hot makes vectors of the labels, but the loss takes class numbers; remove one_hot or take "
           "categorical_crossentropy";
  }
  const Shape shape = depth > 0 ? with_depth(label, depth) : label;
  if (same_but_ones(shape, spec.labels)) return "";
  const std::string found = depth > 0 ? fmt::format("{} after one_hot", shape.text()) : shape.text();
  return fmt::format("one label has the shape {}, but the model's output and loss take {}; {}", found,
                     spec.labels.text(), labels_remedy(shape, spec));
}

namespace {

class FitCheck {
 public:
  FitCheck(const DataOptions& options, const InputSpec& spec, config::Errors& errors)
      : steps_(options.preprocessing), spec_(spec), errors_(errors), one_hot_(find_one_hot(options.preprocessing)) {}

  /// Checks the size of pictures after the last transform, which does not depend on their original size.
  void check_size() {
    const auto sized =
        std::find_if(steps_.rbegin(), steps_.rend(), [](const auto& step) { return !!size_after(step); });
    if (sized == steps_.rend()) return;
    const Extents size = *size_after(*sized);
    const Shape& input = spec_.features;
    if (input.rank() >= 2 && input.rank() <= 3 && input[0] == size.height && input[1] == size.width) return;
    if (same_but_ones(Shape{size.height, size.width}, input)) return;
    has_wrong_size_ = true;
    add(located(*sized), fmt::format("gives pictures the size {} x {} (height x width), but model.input_shape is {}; "
                                     "make them the same",
                                     size.height, size.width, input.text()));
  }

  /// Checks the numbers that an embedding looks up.
  void check_lookups(const PlaceOf& place_of) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (std::holds_alternative<OneHot>(steps_[i])) continue;
      const auto name = std::visit([](const auto& held) { return held.kName; }, steps_[i]);
      const std::string path = fmt::format("data.preprocessing[{}].{}", i, name);
      errors_.add(place_of(path), path,
                  fmt::format("{} changes the numbers that the model's embedding looks up; leave it out", name));
    }
  }

  void operator()(const PreprocessingStep& step) {
    if (const auto* normalization = std::get_if<Normalization>(&step)) {
      check_channels(normalization->mean);
      check_channels(normalization->variance);
    }
    if (const auto* one_hot = std::get_if<OneHot>(&step)) {
      // Labels are assumed to be one class number each; a file's contents are checked when it is read.
      if (spec_.classes > 0 || spec_.labels.rank() == 0 || spec_.labels.back() != one_hot->depth.value) {
        add(one_hot->depth, labels_mismatch(Shape{}, one_hot->depth.value, spec_));
      }
    }
  }

  template <class AnySource>
  void operator()(const AnySource& source) {
    std::visit([&](const auto& held) { check(held); }, source);
  }

 private:
  template <class Format>
  void check(const Format&) {}

  void check(const Inline& source) {
    const InlineArray &features = source.features, &labels = source.labels;
    if (features.elements.empty() || labels.elements.empty()) return;  // already reported
    if (features.shape[0] != labels.shape[0]) return;                  // already reported
    const Dataset dataset(read(source));
    add(features, features.written.place(), example_mismatch(dataset.features().row_shape()));
    if (const auto wrong = find_wrong_feature(dataset, spec_)) {
      const config::Value& written = features.written.items()[static_cast<std::size_t>(wrong->row)];
      errors_.add(written.place(), fmt::format("{}[{}]", features.path, wrong->row), wrong->message);
    }
    const std::string mismatch = label_mismatch(dataset.features().row_shape(), dataset.labels().row_shape());
    if (!mismatch.empty()) return add(labels, labels.written.place(), mismatch);
    if (const auto wrong = find_wrong_label(dataset, depth(), spec_)) {
      const config::Value& written = labels.written.items()[static_cast<std::size_t>(wrong->row)];
      errors_.add(written.place(), fmt::format("{}[{}]", labels.path, wrong->row), wrong->message);
    }
  }

  void check(const Synthetic& source) {
    if (source.shape.value.empty()) return;  // already reported
    add(source.shape, example_mismatch(Shape(source.shape.value)));
    if (spec_.numbers_below > 0) {
      add(source.shape,
          "synthetic features are numbers between 0 and 1, but the model's embedding looks up whole "
          "numbers; use another format, such as npy");
    }
    if (source.label_shape.value) {
      return add(source.label_shape, label_mismatch(Shape(source.shape.value), source.labels()));
    }
    if (!source.classes.value) return;  // already reported
    const std::string mismatch = labels_mismatch(Shape{}, depth(), spec_);
    if (!mismatch.empty()) return add(source.classes, mismatch);
    const std::int64_t most = depth() > 0 ? depth() : spec_.classes > 0 ? spec_.classes : spec_.probabilities ? 2 : 0;
    if (most > 0 && *source.classes.value > most) {
      add(source.classes,
          fmt::format("{} classes, but the model's output has {}; make them equal", *source.classes.value, most));
    }
  }

  /// The mismatch of examples with a known shape, or "". Adds errors of transforms that are not applicable to them.
  std::string example_mismatch(const Shape& example) {
    for (const PreprocessingStep& step : steps_) {
      const std::string mismatch = picture_mismatch(step, example);
      if (mismatch.empty()) continue;
      if (!std::exchange(has_no_pictures_, true)) add(located(step), mismatch);
      return "";
    }
    if (has_wrong_size_) return "";
    const std::string mismatch = features_mismatch(shape_after(steps_, example), spec_);
    return mismatch.empty() || shape_after(steps_, example) == example ? mismatch
                                                                       : "after data.preprocessing " + mismatch;
  }

  /// The same for labels, which may be pictures that are transformed with the features.
  std::string label_mismatch(const Shape& example, const Shape& label) {
    if (has_no_pictures_) return labels_mismatch(label, depth(), spec_);
    try {
      constexpr bool kTrains = true;
      const auto steps = label_steps(acting_steps(steps_, example, kTrains), example, label, spec_, depth());
      return labels_mismatch(shape_after(steps, label), depth(), spec_);
    } catch (const KeyError& error) {
      errors_.add(error.place(), error.path(), error.message());
      return "";
    }
  }

  void check_channels(const config::Located<std::optional<PerChannel>>& values) {
    if (!values.value) return;
    if (const auto* list = std::get_if<std::vector<double>>(&*values.value))
      add(values, channels_mismatch(list->size(), spec_));
  }

  std::int64_t depth() const { return one_hot_ == nullptr ? 0 : one_hot_->depth.value; }

  void add(const StepPlace& at, const std::string& message) { add(at, at.place, message); }
  template <class T>
  void add(const config::Located<T>& at, const std::string& message) {
    add(at, at.place, message);
  }
  template <class T>
  void add(const T& at, const config::Place& place, const std::string& message) {
    if (!message.empty()) errors_.add(place, at.path, message);
  }

  const std::vector<PreprocessingStep>& steps_;
  const InputSpec& spec_;
  config::Errors& errors_;
  const OneHot* one_hot_;
  bool has_wrong_size_ = false, has_no_pictures_ = false;
};

}  // namespace

void check_fit(const DataOptions& options, const InputSpec& spec, const PlaceOf& place_of, config::Errors& errors) {
  FitCheck check(options, spec, errors);
  for (const PreprocessingStep& step : options.preprocessing) check(step);
  if (spec.numbers_below > 0) check.check_lookups(place_of);
  if (spec.numbers_below == 0) check.check_size();
  check(options.train.value);
  if (options.validation.value) check(*options.validation.value);
  if (options.test.value) check(*options.test.value);
}

}  // namespace mirrortrain::data
