#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "config/scalar.h"
#include "data/key_error.h"
#include "data/loading/label_pictures.h"
#include "data/loading/model_fit.h"
#include "data/pictures/picture_steps.h"
#include "data/usable.h"
#include "data/wrong_numbers.h"

namespace mirrortrain::data {
namespace {

template <class Spec>
std::vector<std::string> names_of(const std::vector<Spec>& specs) {
  std::vector<std::string> names;
  for (const Spec& spec : specs) names.push_back(spec.name);
  return names;
}

constexpr std::string_view kTrainPath = "data.train";

class FitCheck {
 public:
  FitCheck(const DataOptions& options, const ExampleSpec& spec, const PlaceOf& place_of, config::Errors& errors)
      : steps_(options.preprocessing), spec_(spec), place_of_(place_of), errors_(errors) {
    if (const Csv* table = table_in(options.train.value)) inputs_of_tables_ = table->field_names().inputs;
  }

  void check_steps() {
    check_step_names();
    wanted_ = wanted_by(&spec_, steps_);
    read_ = spec_before_bins(spec_, steps_);
    for (const InputSpec& input : spec_.inputs) of_input_.push_back(steps_of_input(steps_, input.name));
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      check_statistics(i);
      check_before_bins(i);
      spec_.inputs[i].numbers_below > 0 ? check_lookups(i) : check_size(i);
    }
    for (std::size_t i = 0; i < spec_.labels.size(); ++i) {
      const LabelSpec& label = spec_.labels[i];
      const OneHot* const one_hot = find_one_hot(steps_, label.name);
      // Labels are assumed to be one class number each; a file's contents are checked when it is read.
      if (one_hot == nullptr) continue;
      if (label.classes > 0 || label.shape.rank() == 0 || label.shape.back() != one_hot->depth.value) {
        add(one_hot->depth, labels_mismatch(Shape{}, i, wanted_));
      }
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (const std::string mismatch = mixing_mismatch(steps_, i, spec_); !mismatch.empty()) {
        const StepPlace at = located(steps_[i]);
        const std::string_view name = std::visit([](const auto& held) { return held.kName; }, steps_[i]);
        errors_.add(at.place, at.path, fmt::format("{} {}", name, mismatch));
      }
    }
  }

  template <class AnySource>
  void check_source(const config::Located<AnySource>& source) {
    std::visit([&](const auto& held) { check_format(held, source.place, source.path); }, source.value);
  }
  template <class AnySource>
  void check_source(const config::Located<std::optional<AnySource>>& source) {
    if (!source.value) return;
    std::visit([&](const auto& held) { check_format(held, source.place, source.path); }, *source.value);
  }

 private:
  /// Every step has to say whose it is where the model has several inputs or outputs. One that does not, or says a
  /// wrong one, is checked no further.
  void check_step_names() {
    std::vector<PreprocessingStep> known;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const std::size_t before = errors_.count();
      std::visit(
          [&](const auto& step) {
            const std::string path = fmt::format("data.preprocessing[{}].{}", i, step.kName);
            if constexpr (std::is_base_of_v<Mixing, std::decay_t<decltype(step)>>) {
              for (const std::string& name : step.inputs.value.value_or(std::vector<std::string>())) {
                if (std::ranges::count(names_of(spec_.inputs), name) > 0) continue;
                errors_.add(step.inputs.place, step.inputs.path, unknown_name(name, "input", names_of(spec_.inputs)));
              }
            } else if constexpr (requires { step.input; }) {
              check_name(step.input, "input", names_of(spec_.inputs), path);
            } else {
              check_name(step.output, "output", names_of(spec_.labels), path);
            }
          },
          steps_[i]);
      if (errors_.count() != before) continue;
      known.push_back(steps_[i]);
      numbers_.push_back(i);
    }
    knows_steps_ = known.size() == steps_.size();
    steps_ = std::move(known);
  }

  void check_name(const config::Located<std::optional<std::string>>& given, std::string_view what,
                  const std::vector<std::string>& names, const std::string& path) {
    if (!given.value && names.size() > 1) {
      errors_.add(place_of_(path), path,
                  fmt::format("the model has several {0}s: add {0}: with one of {1}", what, fmt::join(names, ", ")));
    } else if (given.value && std::ranges::count(names, *given.value) == 0) {
      errors_.add(given.place, given.path, unknown_name(*given.value, what, names));
    }
  }

  static std::string unknown_name(const std::string& name, std::string_view what,
                                  const std::vector<std::string>& names) {
    const std::string near = config::suggestion(name, names);
    return fmt::format("the model has no {} '{}'{}", what, config::shortened(name),
                       !near.empty() ? near : fmt::format("; it has {}", fmt::join(names, ", ")));
  }

  template <class Format>
  FieldNames names_of_source(const Format& source) const {
    FieldNames names = field_names(source);
    if constexpr (is_table<Format>) {  // where it says nothing, those of the training data count
      if (source.inputs.empty() && !source.features && !inputs_of_tables_.empty()) names.inputs = inputs_of_tables_;
    }
    return names;
  }

  /// Checks the names that a source gives against the model's. `key`: of the source that gives names.
  bool check_names(const std::vector<std::string>& given, const std::vector<std::string>& wanted, std::string_view what,
                   const std::string& key, const config::Place& place, const std::string& path) {
    const bool has_names = given.size() != 1 || !given.front().empty();
    if (!has_names && wanted.size() == 1) return true;
    const std::string below = path + "." + key;
    const std::size_t before = errors_.count();
    if (!has_names) {
      errors_.add(place, path,
                  fmt::format("expected {0} by name, as the model has several {1}s: {0}: {{{2}: ...}}", key, what,
                              fmt::join(wanted, ": ..., ")));
      return false;
    }
    for (const std::string& name : given) {
      if (std::ranges::count(wanted, name) > 0) continue;
      const config::Place at = place_of_(below + "." + name);
      errors_.add(at.given() ? at : place, below + "." + config::shortened(name), unknown_name(name, what, wanted));
    }
    for (const std::string& name : wanted) {
      if (std::ranges::count(given, name) > 0 || errors_.count() > before) continue;
      const config::Place at = place_of_(below);
      errors_.add(at.given() ? at : place, below,
                  fmt::format("the model's {0} '{1}' is missing; add {1}: to {2}", what, name, key));
    }
    return errors_.count() == before;
  }

  /// Whether a split takes the training data's names where it writes none itself, and with them their errors.
  template <class Format>
  bool repeats_train(const std::string& path, const std::string& key, bool train_is_wrong) const {
    constexpr bool kInherits = is_table<Format> || std::is_same_v<Format, Npz>;
    return kInherits && train_is_wrong && path != kTrainPath && !place_of_(path + "." + key).given();
  }

  template <class Format>
  void check_format(const Format& source, const config::Place& place, const std::string& path) {
    if constexpr (!std::is_same_v<Format, ValidationFraction>) {
      const FieldNames names = names_of_source(source);
      if (repeats_train<Format>(path, "inputs", has_wrong_inputs_)) return;
      if (repeats_train<Format>(path, "labels", has_wrong_outputs_)) return;
      const bool inputs_fit = check_names(names.inputs, names_of(spec_.inputs), "input", "inputs", place, path);
      const bool outputs_fit = check_names(names.outputs, names_of(spec_.labels), "output", "labels", place, path);
      if (path == kTrainPath) {
        has_wrong_inputs_ = !inputs_fit;
        has_wrong_outputs_ = !outputs_fit;
      }
      if (inputs_fit && outputs_fit) check(source);
    }
  }

  /// Checks the size of pictures after the last transform, which does not depend on their original size.
  void check_size(std::size_t number) {
    const std::vector<PreprocessingStep>& steps = of_input_[number];
    const InputSpec& spec = spec_.inputs[number];
    const auto sized = std::find_if(steps.rbegin(), steps.rend(), [](const auto& step) { return !!size_after(step); });
    if (sized == steps.rend()) return;
    const Extents size = *size_after(*sized);
    const Shape& input = spec.shape;
    if (input.rank() >= 2 && input.rank() <= 3 && input[0] == size.height && input[1] == size.width) return;
    if (same_but_ones(Shape{size.height, size.width}, input)) return;
    has_wrong_size_.insert(number);
    add(located(*sized),
        fmt::format("gives pictures the size {} x {} (height x width), but {} is {}; make them the same", size.height,
                    size.width, spec.path, input.text()));
  }

  static std::string_view name_of(const PreprocessingStep& step) {
    return std::visit([](const auto& held) { return held.kName; }, step);
  }

  void add_at_step(std::size_t number, const std::string& message) {
    const std::string path = fmt::format("data.preprocessing[{}].{}", numbers_[number], name_of(steps_[number]));
    errors_.add(place_of_(path), path, message);
  }

  /// Bins are found once, before what is computed for each epoch or picture.
  void check_before_bins(std::size_t number) {
    std::optional<std::size_t> other;  // the first transform that is not of individual numbers
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_of_input({steps_[i]}, spec_.inputs[number].name).empty()) continue;
      if (is_of_pictures(steps_[i]) && !other) other = i;
      if (as_binning(steps_[i]) == nullptr || !other) continue;
      add_at_step(*other,
                  fmt::format("{0} is for pictures, and {1} behind it puts numbers into bins; leave one of them out",
                              name_of(steps_[*other]), name_of(steps_[i])));
      return;
    }
  }

  /// Checks the numbers that an embedding looks up.
  void check_lookups(std::size_t number) {
    const InputSpec& input = spec_.inputs[number];
    std::optional<std::size_t> bins;  // the last transform that makes numbers of bins
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Binning* const binning = as_binning(steps_[i]);
      const bool makes_numbers = binning != nullptr && binning->output_mode == BinOutput::kInt;
      if (makes_numbers && !steps_of_input({steps_[i]}, input.name).empty()) bins = i;
    }
    for (std::size_t i = bins ? *bins + 1 : 0; i < steps_.size(); ++i) {
      if (steps_of_input({steps_[i]}, input.name).empty()) continue;
      add_at_step(i, fmt::format("{} changes the numbers that the model's embedding looks up; leave it out",
                                 name_of(steps_[i])));
    }
    if (bins) check_bins(*bins, input);
  }

  void check_bins(std::size_t step, const InputSpec& input) {
    const std::int64_t bins = bins_of(steps_[step]);
    const auto least = std::ranges::min_element(input.lookups, {}, &LookupSpec::rows);
    if (bins > least->rows) {
      add_at_step(step,
                  fmt::format("{} has {} bins: numbers from 0 to {}, but the embedding '{}' has input_dim: {}; write "
                              "input_dim: {}",
                              name_of(steps_[step]), bins, bins - 1, least->layer, least->rows, bins));
    }
    const auto masking = std::ranges::find(input.lookups, true, &LookupSpec::masks_zero);
    const auto* const hashing = std::get_if<Hashing>(&steps_[step]);
    if (masking == input.lookups.end() || (hashing != nullptr && hashing->masks())) return;
    add_at_step(
        step,
        fmt::format("mask_zero of '{}' takes 0 for padding, but here 0 is the first bin; leave mask_zero out{}",
                    masking->layer, hashing != nullptr ? ", or give the number that is padding as mask_value" : ""));
  }

  template <class Format>
  void check(const Format& source) {
    if constexpr (requires { source.weights; }) check_names(source.weights);
    if (!knows_steps_) return;
    if constexpr (std::same_as<Format, Inline>) check_numbers(source);
    if constexpr (std::same_as<Format, Synthetic>) check_synthetic(source);
  }

  template <class T>
  void check_names(const std::optional<config::ByName<config::Located<T>>>& weights) {
    if (!weights) return;
    const std::vector<std::string> outputs = names_of(spec_.labels);
    for (const auto& [name, of_output] : weights->named.entries) {
      if (std::ranges::count(outputs, name) == 0) add(of_output, unknown_name(name, "output", outputs));
    }
  }

  void check_numbers(const Inline& source) {
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
      add(written, written.written.place(), example_mismatch(i, dataset.features(i).row_shape()));
      if (const auto wrong = find_wrong_feature(dataset, i, read_.inputs[i])) add_at_row(written, *wrong);
    }
    for (std::size_t i = 0; i < spec_.labels.size(); ++i) {
      const InlineArray& written = *written_for(source.all_labels(), spec_.labels[i].name);
      const std::string mismatch = label_mismatch(i, shapes_of(dataset), dataset.labels(i).row_shape());
      if (!mismatch.empty()) {
        add(written, written.written.place(), mismatch);
      } else if (const auto wrong = find_wrong_label(dataset, i, wanted_)) {
        add_at_row(written, *wrong);
      }
    }
  }

  static std::vector<Shape> shapes_of(const Dataset& dataset) {
    std::vector<Shape> shapes;
    for (const Features& input : dataset.inputs()) shapes.push_back(input.array.row_shape());
    return shapes;
  }

  static const InlineArray* written_for(const std::vector<std::pair<std::string, const InlineArray*>>& all,
                                        const std::string& name) {
    const auto found = std::ranges::find(all, name, &std::pair<std::string, const InlineArray*>::first);
    return (found != all.end() ? *found : all.front()).second;
  }

  void add_at_row(const InlineArray& written, const WrongNumber& wrong) {
    const config::Value& row = written.written.items()[static_cast<std::size_t>(wrong.row)];
    errors_.add(row.place(), fmt::format("{}[{}]", written.path, wrong.row), wrong.message);
  }

  void check_synthetic(const Synthetic& source) {
    const std::vector<SyntheticInput> inputs = source.all_inputs();
    const std::vector<SyntheticLabels> outputs = source.all_labels();
    if (inputs.empty()) return;  // already reported
    std::vector<Shape> shapes;
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      const SyntheticInput& input = named(inputs, spec_.inputs[i].name);
      shapes.push_back(Shape(input.shape.value));
      add(input.shape, example_mismatch(i, shapes.back()));
      const std::int64_t numbers = read_.inputs[i].numbers_below;
      if (numbers > 0 && !input.below.value) {
        add(input.shape,
            "synthetic features are numbers between 0 and 1, but the model's embedding looks up whole numbers; give "
            "the input in data.train.inputs, with `below`, or use another format, such as npy");
      } else if (numbers > 0 && *input.below.value > numbers) {
        add(input.below, fmt::format("numbers below {}, but the model's embedding looks up those below {}",
                                     *input.below.value, numbers));
      }
    }
    for (std::size_t i = 0; i < spec_.labels.size(); ++i) check(named(outputs, spec_.labels[i].name), i, shapes);
  }

  void check(const SyntheticLabels& labels, std::size_t output, const std::vector<Shape>& shapes) {
    const std::string mismatch = label_mismatch(output, shapes, labels.shape());
    const LabelSpec& spec = spec_.labels[output];
    if (labels.label_shape.value && !mismatch.empty()) return add(labels.label_shape, mismatch);
    if (!labels.classes.value) {
      const std::string_view taken = spec.classes > 0     ? "class numbers"
                                     : spec.signs         ? "the numbers -1, 0 and 1"
                                     : spec.probabilities ? "numbers from 0 to 1"
                                                          : "";
      if (!labels.label_shape.value || taken.empty()) return;  // already reported, or right
      return add(labels.label_shape,
                 fmt::format("labels without `classes` are any numbers, but the loss takes {}; give classes, or take "
                             "mean_squared_error",
                             taken));
    }
    if (!mismatch.empty()) return add(labels.classes, mismatch);
    const std::int64_t depth = wanted_.one_hot_depth(output);
    const std::int64_t most = depth > 0 ? depth : spec.classes > 0 ? spec.classes : spec.probabilities ? 2 : 0;
    if (most > 0 && *labels.classes.value > most) {
      add(labels.classes,
          fmt::format("{} classes, but the model's output has {}; make them equal", *labels.classes.value, most));
    }
  }

  template <class Field>
  static const Field& named(const std::vector<Field>& fields, const std::string& name) {
    const auto found = std::ranges::find(fields, name, &Field::name);
    return found != fields.end() ? *found : fields.front();
  }

  /// The mismatch of an input's examples with a known shape, or "". Adds errors of transforms that are not applicable
  /// to them.
  std::string example_mismatch(std::size_t input, const Shape& example) {
    const std::vector<PreprocessingStep>& steps = of_input_[input];
    for (const PreprocessingStep& step : steps) {
      const std::string mismatch = picture_mismatch(step, example);
      if (mismatch.empty()) continue;
      if (!std::exchange(has_no_pictures_, true)) add(located(step), mismatch);
      return "";
    }
    if (has_wrong_size_.contains(input)) return "";
    const std::string mismatch = features_mismatch(shape_after(steps, example), spec_.inputs[input]);
    return mismatch.empty() || shape_after(steps, example) == example ? mismatch
                                                                      : "after data.preprocessing " + mismatch;
  }

  /// The same for an output's labels, which may be pictures that are transformed with the features. `examples`: the
  /// shapes of all inputs.
  std::string label_mismatch(std::size_t output, const std::vector<Shape>& examples, const Shape& label) {
    if (has_no_pictures_) return labels_mismatch(label, output, wanted_);
    try {
      constexpr bool kTrains = true;
      Shape fed = label;
      for (std::size_t i = 0; i < examples.size(); ++i) {
        const auto steps = label_steps(acting_steps(of_input_[i], examples[i], spec_.inputs[i].shape, kTrains),
                                       examples[i], label, output, wanted_);
        if (!steps.empty()) fed = shape_after(steps, label);
      }
      return labels_mismatch(fed, output, wanted_);
    } catch (const KeyError& error) {
      errors_.add(error.place(), error.path(), error.message());
      return "";
    }
  }

  /// Of examples that come with the shape of the input; that of pictures which change their size shows when they are
  /// read.
  void check_statistics(std::size_t input) {
    if (std::ranges::any_of(of_input_[input], is_of_pictures)) return;
    const Shape& shape = spec_.inputs[input].shape;
    for (const PreprocessingStep& step : of_input_[input]) {
      const auto* const normalization = std::get_if<Normalization>(&step);
      if (normalization == nullptr) continue;
      try {
        spread(*normalization, shared_statistics(*normalization, shape, shape));
      } catch (const KeyError& error) {
        errors_.add(error.place(), error.path(), error.message());
      }
    }
  }

  void add(const StepPlace& at, const std::string& message) { add(at, at.place, message); }
  template <class T>
  void add(const config::Located<T>& at, const std::string& message) {
    add(at, at.place, message);
  }
  template <class T>
  void add(const T& at, const config::Place& place, const std::string& message) {
    if (!message.empty()) errors_.add(place, at.path, message);
  }

  std::vector<PreprocessingStep> steps_;  ///< those whose input or output is known
  std::vector<std::size_t> numbers_{};    ///< theirs in the file
  std::vector<std::vector<PreprocessingStep>> of_input_{};
  const ExampleSpec& spec_;
  ExampleSpec read_{};  ///< what the data have to be as they are read
  Wanted wanted_{};
  const PlaceOf& place_of_;
  config::Errors& errors_;
  std::vector<std::string> inputs_of_tables_;  ///< the names of those of the training data, if they are a table
  std::set<std::size_t> has_wrong_size_;       ///< inputs
  bool has_no_pictures_ = false, knows_steps_ = true;
  bool has_wrong_inputs_ = false, has_wrong_outputs_ = false;  ///< of the training data
};

}  // namespace

void check_fit(const DataOptions& options, const ExampleSpec& spec, const PlaceOf& place_of, config::Errors& errors) {
  FitCheck check(options, spec, place_of, errors);
  check.check_steps();
  check.check_source(options.train);
  check.check_source(options.validation);
  check.check_source(options.test);
}

}  // namespace mirrortrain::data
