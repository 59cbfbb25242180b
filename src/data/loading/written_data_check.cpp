#include "data/loading/written_data_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "data/key_error.h"
#include "data/loading/label_pictures.h"
#include "data/loading/model_fit.h"
#include "data/pictures/step_shapes.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

std::vector<Shape> shapes_of(const Dataset& dataset) {
  std::vector<Shape> shapes;
  for (const Features& input : dataset.inputs()) shapes.push_back(input.array.row_shape());
  return shapes;
}

const InlineArray* written_for(const std::vector<std::pair<std::string, const InlineArray*>>& all,
                               const std::string& name) {
  const auto found = std::ranges::find(all, name, &std::pair<std::string, const InlineArray*>::first);
  return (found != all.end() ? *found : all.front()).second;
}

template <class Field>
const Field& named(const std::vector<Field>& fields, const std::string& name) {
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found != fields.end() ? *found : fields.front();
}

}  // namespace

WrittenDataCheck::WrittenDataCheck(const KnownSteps& known, std::set<std::size_t> has_wrong_size,
                                   const ExampleSpec& spec, config::Errors& errors)
    : known_(known),
      spec_(spec),
      read_(spec_before_bins(spec, known.steps)),
      wanted_(wanted_by(&spec, known.steps)),
      errors_(errors),
      has_wrong_size_(std::move(has_wrong_size)) {}

void WrittenDataCheck::add(const config::Place& place, const std::string& path, const std::string& message) {
  if (!message.empty()) errors_.add(place, path, message);
}

void WrittenDataCheck::check(const Inline& source) {
  for (const auto& [name, input] : source.all_inputs()) {
    if (input->elements.empty()) return;  // already reported
  }
  for (const auto& [name, label] : source.all_labels()) {
    if (label->elements.empty() || label->shape[0] != source.all_inputs().front().second->shape[0]) return;
  }
  Examples examples = read(source);
  arrange(examples, spec_);
  const Dataset dataset(std::move(examples));
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    const InlineArray& written = *written_for(source.all_inputs(), spec_.inputs[i].name);
    add(written.written.place(), written.path, example_mismatch(i, dataset.features(i).row_shape()));
    if (const auto wrong = find_wrong_feature(dataset, i, read_.inputs[i])) add_at_row(written, *wrong);
  }
  for (std::size_t i = 0; i < spec_.labels.size(); ++i) {
    const InlineArray& written = *written_for(source.all_labels(), spec_.labels[i].name);
    const std::string mismatch = label_mismatch(i, shapes_of(dataset), dataset.labels(i).row_shape());
    if (!mismatch.empty()) {
      add(written.written.place(), written.path, mismatch);
    } else if (const auto wrong = find_wrong_label(dataset, i, wanted_)) {
      add_at_row(written, *wrong);
    }
  }
}

void WrittenDataCheck::add_at_row(const InlineArray& written, const WrongNumber& wrong) {
  const config::Value& row = written.written.items()[static_cast<std::size_t>(wrong.row)];
  errors_.add(row.place(), fmt::format("{}[{}]", written.path, wrong.row), wrong.message);
}

void WrittenDataCheck::check(const Synthetic& source) {
  const std::vector<SyntheticInput> inputs = source.all_inputs();
  const std::vector<SyntheticLabels> outputs = source.all_labels();
  if (inputs.empty()) return;  // already reported
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    const SyntheticInput& input = named(inputs, spec_.inputs[i].name);
    shapes.push_back(Shape(input.shape.value));
    add_at(input.shape, example_mismatch(i, shapes.back()));
    const std::int64_t numbers = read_.inputs[i].numbers_below;
    if (numbers > 0 && !input.below.value) {
      add_at(input.shape,
             "synthetic features are numbers between 0 and 1, but the model's embedding looks up whole numbers; give "
             "the input in data.train.inputs, with `below`, or use another format, such as npy");
    } else if (numbers > 0 && *input.below.value > numbers) {
      add_at(input.below, fmt::format("numbers below {}, but the model's embedding looks up those below {}",
                                      *input.below.value, numbers));
    }
  }
  for (std::size_t i = 0; i < spec_.labels.size(); ++i) check_labels(named(outputs, spec_.labels[i].name), i, shapes);
}

void WrittenDataCheck::check_labels(const SyntheticLabels& labels, std::size_t output,
                                    const std::vector<Shape>& shapes) {
  const std::string mismatch = label_mismatch(output, shapes, labels.shape());
  const LabelSpec& spec = spec_.labels[output];
  if (labels.label_shape.value && !mismatch.empty()) return add_at(labels.label_shape, mismatch);
  if (!labels.classes.value) {
    const std::string_view taken = spec.classes > 0     ? "class numbers"
                                   : spec.signs         ? "the numbers -1, 0 and 1"
                                   : spec.probabilities ? "numbers from 0 to 1"
                                                        : "";
    if (!labels.label_shape.value || taken.empty()) return;  // already reported, or right
    return add_at(labels.label_shape,
                  fmt::format("labels without `classes` are any numbers, but the loss takes {}; give classes, or take "
                              "mean_squared_error",
                              taken));
  }
  if (!mismatch.empty()) return add_at(labels.classes, mismatch);
  const std::int64_t depth = wanted_.one_hot_depth(output);
  const std::int64_t most = depth > 0 ? depth : spec.classes > 0 ? spec.classes : spec.probabilities ? 2 : 0;
  if (most > 0 && *labels.classes.value > most) {
    add_at(labels.classes,
           fmt::format("{} classes, but the model's output has {}; make them equal", *labels.classes.value, most));
  }
}

std::string WrittenDataCheck::example_mismatch(std::size_t input, const Shape& example) {
  const std::vector<PreprocessingStep>& steps = known_.of_input[input];
  for (const PreprocessingStep& step : steps) {
    const std::string mismatch = picture_mismatch(step, example);
    if (mismatch.empty()) continue;
    if (!std::exchange(has_no_pictures_, true)) add_at(located(step), mismatch);
    return "";
  }
  if (has_wrong_size_.contains(input)) return "";
  const std::string mismatch = features_mismatch(shape_after(steps, example), spec_.inputs[input]);
  return mismatch.empty() || shape_after(steps, example) == example ? mismatch : "after data.preprocessing " + mismatch;
}

std::string WrittenDataCheck::label_mismatch(std::size_t output, const std::vector<Shape>& examples,
                                             const Shape& label) {
  if (has_no_pictures_) return labels_mismatch(label, output, wanted_);
  try {
    constexpr bool kTrains = true;
    Shape fed = label;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const auto steps = label_steps(acting_steps(known_.of_input[i], examples[i], spec_.inputs[i].shape, kTrains),
                                     examples[i], label, output, wanted_);
      if (!steps.empty()) fed = shape_after(steps, label);
    }
    return labels_mismatch(fed, output, wanted_);
  } catch (const KeyError& error) {
    errors_.add(error.place(), error.path(), error.message());
    return "";
  }
}

}  // namespace mirrortrain::data
