#include "train/warnings/class_counts.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "data/example_classes.h"
#include "data/feeding/example_weights.h"
#include "report/format.h"
#include "train/warnings/part_remedies.h"

namespace mirrortrain {
namespace {

std::optional<data::ClassCounts> counts_of(const CheckedConfiguration& checked, const data::Dataset* split,
                                           std::size_t output) {
  if (split == nullptr || !checked.has_model()) return std::nullopt;
  const auto classes = data::example_classes(*split, output, checked.wanted());
  return classes ? std::optional(data::count_classes(*classes)) : std::nullopt;
}

std::vector<std::string> names_of(const CheckedConfiguration& checked, const SplitsToCheck& splits,
                                  std::size_t output) {
  if (splits.adapted == nullptr) return {};
  return splits.adapted->classes_of(checked.examples.labels[output].name);
}

constexpr std::size_t kNamedClasses = 5;  // classes listed in a warning

/// What to do about classes that a split lacks, or has few examples of.
struct Remedies {
  std::string absent = "add some", few = "add some";
  std::string alone = "add some";  ///< where each absent class has one example in all
};

template <class LocatedSource>
void warn_of_split(const LocatedSource& source, const char* name, const data::ClassCounts& of_train,
                   const data::ClassCounts& of_split, const Remedies& remedies, const std::vector<std::string>& names,
                   const std::string& of_output, config::Errors& errors) {
  constexpr std::int64_t kFew = 5, kEnough = 10;
  std::int64_t examples = 0;
  for (const auto& [number, count] : of_split) examples += count;
  if (examples < kEnough || of_split.size() < 2) return;  // has a warning of its own
  std::vector<std::string> absent, few;
  bool has_absent_with_several = false;  // a class of one example is necessarily absent from one of two parts
  for (const auto& [number, count] : of_train) {
    const auto found = of_split.find(number);
    const std::string text = data::class_text(number, names);
    if (found == of_split.end()) {
      absent.push_back(text);
      has_absent_with_several = has_absent_with_several || count > 1;
    } else if (found->second < kFew) {
      few.push_back(fmt::format("{} ({})", text, found->second));
    }
  }
  if (!absent.empty()) {
    errors.warn(source.place, source.path,
                fmt::format("{} has no example of the class{} {}{}, which the training data have; {}", name,
                            absent.size() == 1 ? "" : "es", report::first_of(absent, kNamedClasses), of_output,
                            has_absent_with_several ? remedies.absent : remedies.alone));
  }
  if (!few.empty()) {
    errors.warn(
        source.place, source.path,
        fmt::format("{} has fewer than {} examples of the class{} {}{}, so that its figures say little of {}; {}", name,
                    kFew, few.size() == 1 ? "" : "es", report::first_of(few, kNamedClasses), of_output,
                    few.size() == 1 ? "it" : "them", remedies.few));
  }
}

/// Warns of labels such as 1 to 3, or 10, 20 and 30, with an output for each number from 0 to the largest. Numbers of
/// groups say nothing of outputs.
void warn_of_idle_outputs(const CheckedConfiguration& checked, std::size_t output, const data::ClassCounts& counts,
                          config::Errors& errors) {
  if (!are_like_output(targets_of(checked.objectives[output].loss.value))) return;
  const std::int64_t outputs = checked.examples.labels[output].classes;
  const auto used = static_cast<std::int64_t>(counts.size());
  if (outputs == 0 || used == outputs || used < 2 || (counts.begin()->first == 0 && 2 * used >= outputs)) return;
  std::vector<std::string> numbers;
  for (const auto& [number, count] : counts) numbers.push_back(std::to_string(number));
  const bool are_numbered_from_0 = counts.begin()->first == 0 && counts.rbegin()->first == used - 1;
  const std::string remedy = are_numbered_from_0
                                 ? fmt::format("give the last layer {} units", used)
                                 : fmt::format("classes count from 0: number them 0 to {} in the data", used - 1);
  const auto& source = checked.values().data.train;
  errors.warn(source.place, source.path,
              fmt::format("the labels{} are {}, so that {} of the model's {} outputs have no example; {}",
                          checked.of_output(output), report::first_of(numbers, kNamedClasses), outputs - used, outputs,
                          remedy));
}

/// `has_weights`: whether examples have weights of their own. Of classes that are rare, accuracy alone says nothing: a
/// model that never answers with them has a high one.
void warn_of_accuracy_alone(const CheckedConfiguration& checked, std::size_t output, const data::ClassCounts& counts,
                            bool has_weights, const std::vector<std::string>& names, config::Errors& errors) {
  constexpr double kNearlyAll = 0.9;
  constexpr std::int64_t kEnough = 20;
  const Objective& objective = checked.objectives[output];
  const losses::ClassWeight* const weights = class_weight_of(objective.loss.value);
  const auto is_accuracy = [](const config::Located<Metric>& metric) {
    return config::visit([](const auto& held) { return std::string_view(held.kName); }, metric.value)
        .ends_with("accuracy");
  };
  if (objective.metrics.empty() || !std::ranges::all_of(objective.metrics, is_accuracy)) return;
  if (weights != nullptr && !weights->empty()) return;
  std::int64_t examples = 0;
  auto most = counts.begin();
  for (auto one = counts.begin(); one != counts.end(); ++one) {
    examples += one->second;
    if (one->second > most->second) most = one;
  }
  if (counts.size() < 2 || examples < kEnough) return;
  const double share = static_cast<double>(most->second) / static_cast<double>(examples);
  if (share < kNearlyAll) return;
  const bool takes_weights = weights != nullptr && !has_weights;  // an output cannot have both kinds
  const config::Located<Metric>& metric = objective.metrics.front();
  errors.warn(metric.place, metric.path,
              fmt::format("{} of {} training examples are of class {}, so that a model that always answers this has an "
                          "accuracy of {:.3g}; add precision, recall or f1_score{}",
                          most->second, examples, data::class_text(most->first, names), share,
                          takes_weights ? ", and see class_weight: balanced of the loss" : ""));
}

/// A split may lack every label of an output.
std::string text_of(const data::ClassCounts& counts, const std::vector<std::string>& names) {
  return counts.empty() ? "no labels" : data::class_counts_text(counts, names);
}

/// The classes of an output's labels in each split; "" if its labels are no classes.
std::string counts_text(const CheckedConfiguration& checked, const SplitsToCheck& splits, std::size_t output) {
  const auto of_train = counts_of(checked, splits.train, output);
  if (!of_train) return "";
  const std::vector<std::string> names = names_of(checked, splits, output);
  std::string text = fmt::format("classes{}: train {}", checked.of_output(output), text_of(*of_train, names));
  if (const auto counts = counts_of(checked, splits.validation, output))
    text += "; validation " + text_of(*counts, names);
  if (const auto counts = counts_of(checked, splits.test, output)) text += "; test " + text_of(*counts, names);
  const losses::ClassWeight* const weights = class_weight_of(checked.objectives[output].loss.value);
  if (weights == nullptr || !weights->is_balanced()) return text;
  std::string listed;
  for (const auto& [number, weight] : data::balanced_weights(*splits.train, output)) {
    listed += fmt::format("{}{}: {:.4g}", listed.empty() ? "" : ", ", data::class_text(number, names), weight);
  }
  return fmt::format("{}\nclass_weight: balanced: {}", text, listed);
}

void warn_of_rare_classes(const CheckedConfiguration& checked, const SplitsToCheck& splits, std::size_t output,
                          config::Errors& errors) {
  const auto of_train = counts_of(checked, splits.train, output);
  if (!of_train) return;
  const data::DataOptions& data = checked.values().data;
  if (names_of(checked, splits, output).empty()) warn_of_idle_outputs(checked, output, *of_train, errors);
  const auto* const part = data.part_of_train();
  const std::vector<std::string> names = names_of(checked, splits, output);
  warn_of_accuracy_alone(checked, output, *of_train, splits.train->outputs()[output].weights.has_value(), names,
                         errors);
  if (const auto counts = counts_of(checked, splits.validation, output)) {
    const Remedies remedies =
        part == nullptr
            ? Remedies{}
            : Remedies{remedy_of_absent_classes(checked, *part, *splits.train, output), remedy_of_few_examples(*part),
                       "a class of one example cannot be in both: add some to the data"};
    warn_of_split(data.validation, "validation", *of_train, *counts, remedies, names, checked.of_output(output),
                  errors);
  }
  if (const auto counts = counts_of(checked, splits.test, output)) {
    warn_of_split(data.test, "test", *of_train, *counts, {}, names, checked.of_output(output), errors);
  }
}

}  // namespace

std::string class_counts_note(const CheckedConfiguration& checked, const SplitsToCheck& splits) {
  std::string note;
  for (std::size_t i = 0; i < checked.objectives.size(); ++i) {
    const std::string text = counts_text(checked, splits, i);
    if (!text.empty()) note += (note.empty() ? "" : "\n") + text;
  }
  return note;
}

void warn_of_rare_classes(const CheckedConfiguration& checked, const SplitsToCheck& splits, config::Errors& errors) {
  for (std::size_t i = 0; i < checked.objectives.size(); ++i) warn_of_rare_classes(checked, splits, i, errors);
}

}  // namespace mirrortrain
