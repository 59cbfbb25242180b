#include "train/warnings/data_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/feeding/example_weights.h"
#include "data/order/order.h"
#include "data/row_blocks.h"
#include "data/wrong_numbers.h"
#include "train/warnings/class_counts.h"
#include "train/warnings/column_warnings.h"
#include "train/warnings/label_warnings.h"
#include "train/warnings/option_warnings.h"
#include "train/warnings/part_remedies.h"
#include "train/warnings/scale_warnings.h"
#include "train/warnings/value_range_warnings.h"

namespace mirrortrain {
namespace {

/// The distinct labels of a split whose labels for the output are single numbers; limited in number.
std::set<double> different_labels(const data::Dataset& split, std::size_t output) {
  std::set<double> different;
  const data::Labels& own = split.outputs()[output];
  const data::Array& labels = own.array;
  data::with_element_type(labels.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto width = static_cast<std::size_t>(labels.row_elements());
    data::for_each_block<T>(labels, split.first_row(), split.rows(), [&](std::int64_t row, std::span<const T> block) {
      for (; !block.empty() && different.size() <= 1000; block = block.subspan(width), ++row) {
        if (own.is_present(row)) different.insert(static_cast<double>(block.front()));
      }
      return different.size() <= 1000;
    });
  });
  return different;
}

/// The fraction of the training data that a split is drawn from; null if it has its own data.
const data::ValidationFraction* part_of_train(const std::optional<data::Validation>& source) {
  return source ? std::get_if<data::ValidationFraction>(&*source) : nullptr;
}
const data::ValidationFraction* part_of_train(const std::optional<data::Source>&) { return nullptr; }

std::string label_text(double label, const std::vector<std::string>& classes) {
  const bool has_name = label >= 0 && label < static_cast<double>(classes.size());
  return has_name ? classes[static_cast<std::size_t>(label)] : fmt::format("{:g}", label);
}

/// A split of one class says nothing about the others; the training data have several.
template <class LocatedSource>
void warn_of_one_class(const CheckedConfiguration& checked, const LocatedSource& source, const data::Dataset& train,
                       const data::Dataset* split, std::size_t output, const std::string& name,
                       const std::vector<std::string>& classes, config::Errors& errors) {
  const std::int64_t enough = part_of_train(source.value) != nullptr ? 10 : 2;  // a small part may have one by chance
  if (split == nullptr || split->rows() < enough) return;
  const std::set<double> labels = different_labels(*split, output);
  if (labels.size() != 1) return;
  const auto* const part = part_of_train(source.value);
  errors.warn(source.place, source.path,
              fmt::format("every label{} of {} is {}, though the training data have others; {}",
                          checked.of_output(output), name, label_text(*labels.begin(), classes),
                          part == nullptr ? "check the labels" : remedy_of_one_class(checked, *part, train, output)));
}

std::set<std::string> files_of(const data::Dataset& dataset) {
  std::set<std::string> files;
  for (const data::Features& input : dataset.inputs()) {
    if (input.array.parts.empty()) files.insert(input.array.origin);
    for (const data::Array::Part& part : input.array.parts) files.insert(part.origin);
  }
  return files;
}

/// Warns of a table that is in a split and, as by a glob, in the training data; not of the same tables in both, which
/// their options show.
template <class LocatedSource>
void warn_of_shared_files(const LocatedSource& source, const data::Dataset& train, const data::Dataset* split,
                          config::Errors& errors) {
  if (split == nullptr) return;
  const std::set<std::string> of_train = files_of(train), of_split = files_of(*split);
  const auto shared = std::ranges::find_if(of_split, [&](const auto& file) { return of_train.contains(file); });
  if (shared == of_split.end() || of_split == of_train) return;
  errors.warn(
      source.place, source.path,
      fmt::format("{} is among the training data too, on which a model may only seem good; name other files", *shared));
}

void warn_of_padding_alone(const CheckedConfiguration& checked, const data::Dataset& train, config::Errors& errors) {
  const auto& source = checked.values().data.train;
  for (std::size_t i = 0; i < checked.examples.inputs.size(); ++i) {
    const bool has_bins = std::ranges::any_of(checked.steps_of(i), data::as_binning);
    const bool pads = checked.examples.inputs[i].pads_with_zero && train.source(i) == nullptr && !has_bins;
    if (!pads || !data::is_all_zero(train, i)) continue;
    errors.warn(
        source.place, source.path,
        fmt::format("every number{} is 0, which mask_zero takes for padding, so there is nothing to learn from; "
                    "check how the words were numbered",
                    checked.of_input(i)));
  }
}

/// Warns of a split without a label of an output: figures of nothing are 0, which callbacks would take for the best.
template <class LocatedSource>
void warn_of_no_labels(const CheckedConfiguration& checked, const LocatedSource& source, const data::Dataset* split,
                       std::size_t output, config::Errors& errors) {
  if (split == nullptr || split->rows() == 0 || !different_labels(*split, output).empty()) return;
  errors.warn(
      source.place, source.path,
      fmt::format("no example has a label{}, so that its loss and metrics here are 0 and mean nothing; check the "
                  "data, and what callbacks watch",
                  checked.of_output(output)));
}

/// Warns where every example that has a label weighs 0, by its own weight or its class's: nothing is learned of it, and
/// figures of nothing are 0. `classes`: the weights of classes, which count in training.
template <class LocatedSource>
void warn_of_no_weight(const CheckedConfiguration& checked, const LocatedSource& source, const data::Dataset* split,
                       std::size_t output, const data::ClassWeights& classes, config::Errors& errors) {
  const bool is_weighted = split != nullptr && (split->outputs()[output].weights || !classes.empty());
  if (!is_weighted || split->rows() == 0) return;
  const std::vector<float> weights = data::weights_of(*split, output, classes);
  const std::vector<float> present = data::presence_of(*split, output);
  const auto is_not_zero = [](float number) { return number != 0; };
  if (std::ranges::any_of(weights, is_not_zero) || std::ranges::none_of(present, is_not_zero)) return;
  errors.warn(
      source.place, source.path,
      fmt::format("the weights{} are all 0, so that {}; check them", checked.of_output(output),
                  source.path == "data.train" ? "nothing is learned from it" : "its loss here is 0 and means nothing"));
}

void warn_of_labels(const CheckedConfiguration& checked, const SplitsToCheck& splits, std::size_t output,
                    std::int64_t steps, config::Errors& errors) {
  const data::Dataset& train = *splits.train;
  warn_of_label_numbers(checked, train, output, steps, errors);
  const data::DataOptions& data = checked.values().data;
  warn_of_no_labels(checked, data.validation, splits.validation, output, errors);
  warn_of_no_labels(checked, data.test, splits.test, output, errors);
  const losses::ClassWeight* const class_weights = class_weight_of(checked.objectives[output].loss.value);
  const bool are_listed = class_weights != nullptr && !class_weights->empty() && !class_weights->is_balanced();
  warn_of_no_weight(checked, data.train, &train, output, are_listed ? class_weights->by_class() : data::ClassWeights(),
                    errors);
  warn_of_no_weight(checked, data.validation, splits.validation, output, {}, errors);
  warn_of_no_weight(checked, data.test, splits.test, output, {}, errors);
  if (train.labels(output).row_elements() != 1) return;
  const std::set<double> different = different_labels(train, output);
  const auto& source = data.train;
  if (different.empty()) {
    errors.warn(source.place, source.path,
                fmt::format("no example has a label{}, so that nothing is learned from it; check the data",
                            checked.of_output(output)));
    return;
  }
  if (different.size() == 1 && train.rows() > 1) {
    errors.warn(
        source.place, source.path,
        fmt::format("every label{} is {:g}: there is nothing to distinguish; check the labels, and whether the data "
                    "are sorted by class",
                    checked.of_output(output), *different.begin()));
  } else {
    const std::vector<std::string> classes = splits.adapted != nullptr
                                                 ? splits.adapted->classes_of(checked.examples.labels[output].name)
                                                 : std::vector<std::string>();
    warn_of_one_class(checked, data.validation, train, splits.validation, output, "validation", classes, errors);
    warn_of_one_class(checked, data.test, train, splits.test, output, "test", classes, errors);
  }
  if (checked.wanted().one_hot_depth(output) > 0) return;
  const bool counts_from_0 =
      *different.begin() == 0 && *different.rbegin() == static_cast<double>(different.size() - 1);
  const auto& loss = checked.objectives[output].loss;
  const bool whole = std::ranges::all_of(different, [](double label) { return label == std::floor(label); });
  const bool counts = config::holds_alternative<losses::Poisson>(loss.value);
  if (targets_of(loss.value) == Targets::kNumbers && !counts && whole && counts_from_0 && different.size() > 2 &&
      different.size() <= 1000 && train.rows() >= 5 * static_cast<std::int64_t>(different.size())) {
    errors.warn(loss.place, loss.path,
                fmt::format("the labels look like class numbers, 0 to {}, but this loss takes them for quantities; for "
                            "classes use sparse_categorical_crossentropy and {} units in the last layer",
                            different.size() - 1, different.size()));
  }
}

/// Whether features and labels are the same numbers.
bool are_equal(const data::Dataset& train, std::size_t input, std::size_t output) {
  constexpr std::int64_t kComparedRows = 10'000;
  const data::Array &features = train.features(input), &labels = train.labels(output);
  if (train.source(input) != nullptr || features.row_elements() != labels.row_elements()) return false;
  const std::int64_t rows = std::min(train.rows(), kComparedRows);
  std::vector<std::byte> scratch;
  const auto numbers_of = [&](const data::Array& array, std::int64_t row) {
    return data::with_element_type(array.dtype, [&](auto* type) {
      const auto all = data::elements_of_row<std::remove_pointer_t<decltype(type)>>(array, row, scratch);
      return std::vector<double>(all.begin(), all.end());
    });
  };
  for (std::int64_t row = train.first_row(); row < train.first_row() + rows; ++row) {
    if (numbers_of(features, row) != numbers_of(labels, row)) return false;
  }
  return true;
}

/// Warns of labels that are an input's numbers, as where one array is named for both: not of a model that gives back
/// all that goes in. Tables have a warning of their own.
void warn_of_given_labels(const CheckedConfiguration& checked, const data::Dataset& train, config::Errors& errors) {
  constexpr std::int64_t kFewestCompared = 10;
  if (train.rows() < kFewestCompared || data::table_in(checked.values().data.train.value) != nullptr) return;
  std::vector<std::pair<std::size_t, std::size_t>> equal;  // inputs and outputs
  for (std::size_t i = 0; i < train.inputs().size(); ++i) {
    for (std::size_t o = 0; o < train.outputs().size(); ++o) {
      if (are_equal(train, i, o)) equal.emplace_back(i, o);
    }
  }
  std::set<std::size_t> given_back;
  for (const auto& [input, output] : equal) given_back.insert(input);
  const auto& source = checked.values().data.train;
  for (const auto& [input, output] : equal) {
    const bool are_classes = checked.examples.labels[output].classes > 0;
    if (!are_classes && given_back.size() == train.inputs().size()) continue;
    errors.warn(source.place, source.path,
                fmt::format("the labels{} are the features{}, so that the model is given what it is to predict; check "
                            "which {} they are taken from",
                            checked.of_output(output), checked.of_input(input),
                            train.labels(output).origin == train.features(input).origin ? "array" : "data"));
  }
}

/// Warns of what only the end of an epoch does, in a run that ends before that.
void warn_of_no_epoch(const CheckedConfiguration& checked, std::int64_t steps, std::int64_t batches,
                      config::Errors& errors) {
  const Configuration& values = checked.values();
  if (!values.training.steps || steps == 0 || steps >= batches || values.strategy.declaration().on_cluster) return;
  const config::Place place = checked.place_of("training.steps");
  if (place.from_set()) return;  // a try that is short on purpose
  std::string waiting;
  const auto add = [&](bool is_given, std::string_view key) {
    if (is_given) waiting += fmt::format("{}{}", waiting.empty() ? "" : ", ", key);
  };
  add(values.data.validation.value.has_value(), "data.validation");
  add(!values.callbacks.empty(), "callbacks");
  add(values.checkpoint.save_best.has_value(), "checkpoint.save_best");
  if (waiting.empty()) return;
  errors.warn(place, "training.steps",
              fmt::format("{} end before the first epoch of {} steps does, and with it comes all that {} {} for; train "
                          "at least {} steps, or leave {} out",
                          steps, batches, waiting, waiting.find(',') == std::string::npos ? "is" : "are", batches,
                          waiting.find(',') == std::string::npos ? "it" : "them"));
}

/// Adds warnings about how a split was read.
template <class LocatedSource>
void add_remarks(const LocatedSource& source, const data::Dataset* split, config::Errors& errors) {
  if (split == nullptr) return;
  for (const std::string& remark : split->remarks()) errors.warn(source.place, source.path, remark);
}

}  // namespace

void warn_of_data(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors) {
  const Configuration& values = checked.values();
  add_remarks(values.data.train, splits.train, errors);
  if (values.data.part_of_train() == nullptr) add_remarks(values.data.validation, splits.validation, errors);
  add_remarks(values.data.test, splits.test, errors);
  if (!checked.has_model()) return;
  const data::Dataset& train = *splits.train;
  if (values.data.global_batch_size > train.rows() && !values.data.drop_remainder) {
    errors.warn(
        checked.place_of("data.global_batch_size"), "data.global_batch_size",
        fmt::format("{} is more than the {} training examples, so every step takes all of them; choose a smaller "
                    "batch",
                    values.data.global_batch_size, train.rows()));
  }
  constexpr std::int64_t kFew = 5;
  const data::Dataset* const validation = splits.validation;
  if (validation != nullptr && validation->rows() < kFew) {
    errors.warn(values.data.validation.place, values.data.validation.path,
                fmt::format("validation has {} example{}: its loss and metrics say little; use a larger part",
                            validation->rows(), validation->rows() == 1 ? "" : "s"));
  }
  const std::int64_t batch = values.data.global_batch_size, rows = train.rows();
  const std::int64_t batches = data::batches_of(rows, batch, values.data.drop_remainder);
  const std::int64_t steps = values.training.total_steps(batches);
  warn_of_schedule(checked, steps, errors);
  warn_of_no_epoch(checked, steps, batches, errors);
  warn_of_padding_alone(checked, train, errors);
  warn_of_columns(checked, splits, errors);
  warn_of_scales(checked, splits, errors);
  check_value_ranges(checked, train, errors);
  if (splits.adapted != nullptr && splits.adapted->table) {
    warn_of_shared_files(values.data.test, train, splits.test, errors);
    if (values.data.part_of_train() == nullptr)
      warn_of_shared_files(values.data.validation, train, splits.validation, errors);
  }
  warn_of_given_labels(checked, train, errors);
  for (std::size_t i = 0; i < checked.objectives.size(); ++i) warn_of_labels(checked, splits, i, steps, errors);
  warn_of_rare_classes(checked, splits, errors);
}

}  // namespace mirrortrain
