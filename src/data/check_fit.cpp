#include <fmt/format.h>

#include <type_traits>

#include "data/fit.h"

namespace mirrortrain::data {
namespace {

class FitCheck {
 public:
  FitCheck(const DataOptions& options, const InputSpec& spec, config::Errors& errors)
      : spec_(spec), errors_(errors), one_hot_(find_one_hot(options.preprocessing)) {}

  void operator()(const PreprocessingStep& step) {
    if (const auto* normalization = std::get_if<Normalization>(&step)) {
      check_channels(normalization->mean);
      check_channels(normalization->variance);
    }
    if (const auto* one_hot = std::get_if<OneHot>(&step)) {
      // Labels are taken to be one class number each; what a file holds is looked at when it is read.
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
    add(features, features.written.place(), features_mismatch(dataset.features().row_shape(), spec_));
    const std::string mismatch = labels_mismatch(dataset.labels().row_shape(), depth(), spec_);
    if (!mismatch.empty()) return add(labels, labels.written.place(), mismatch);
    if (const auto wrong = find_wrong_label(dataset, depth(), spec_)) {
      const config::Value& written = labels.written.items()[static_cast<std::size_t>(wrong->row)];
      errors_.add(written.place(), fmt::format("{}[{}]", labels.path, wrong->row), wrong->message);
    }
  }

  void check(const Synthetic& source) {
    if (source.shape.value.empty()) return;  // already reported
    add(source.shape, features_mismatch(Shape(source.shape.value), spec_));
    if (source.label_shape.value) return add(source.label_shape, labels_mismatch(source.labels(), depth(), spec_));
    if (!source.classes.value) return;  // already reported
    const std::string mismatch = labels_mismatch(Shape{}, depth(), spec_);
    if (!mismatch.empty()) return add(source.classes, mismatch);
    const std::int64_t most = depth() > 0 ? depth() : spec_.classes > 0 ? spec_.classes : spec_.probabilities ? 2 : 0;
    if (most > 0 && *source.classes.value > most) {
      add(source.classes,
          fmt::format("{} classes, but the model's output has {}; make them equal", *source.classes.value, most));
    }
  }

  void check_channels(const config::Located<PerChannel>& values) {
    if (const auto* list = std::get_if<std::vector<double>>(&values.value))
      add(values, channels_mismatch(list->size(), spec_));
  }

  std::int64_t depth() const { return one_hot_ == nullptr ? 0 : one_hot_->depth.value; }

  template <class T>
  void add(const config::Located<T>& at, const std::string& message) {
    add(at, at.place, message);
  }
  template <class T>
  void add(const T& at, const config::Place& place, const std::string& message) {
    if (!message.empty()) errors_.add(place, at.path, message);
  }

  const InputSpec& spec_;
  config::Errors& errors_;
  const OneHot* one_hot_;
};

}  // namespace

void check_fit(const DataOptions& options, const InputSpec& spec, config::Errors& errors) {
  FitCheck check(options, spec, errors);
  for (const PreprocessingStep& step : options.preprocessing) check(step);
  check(options.train.value);
  if (options.validation.value) check(*options.validation.value);
  if (options.test.value) check(*options.test.value);
}

}  // namespace mirrortrain::data
