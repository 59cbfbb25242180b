#include "data/loading/load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <thread>

#include "base/error.h"
#include "base/utf8.h"
#include "data/example_classes.h"
#include "data/files/parquet_input.h"
#include "data/loading/holding.h"
#include "data/loading/lookups.h"
#include "data/order/split_rows.h"
#include "data/records/sample_classes.h"
#include "data/records/stored_records.h"
#include "data/tables/csv_table.h"
#include "data/tables/mistaken_number.h"
#include "data/tables/stored_table.h"
#include "data/tables/table_file.h"
#include "data/text/stored_text.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

/// The values adapted to the training data, once known: other splits are read concurrently until they need them.
using AdaptedLater = std::function<const Adapted&()>;

/// Encodes a table independently of the training data.
Examples encoded_by_itself(const Csv& source, CsvTable table, const Adapted& adapted) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  Adapted own{adapted.classes, adapted_table(table, source, rows)};
  for (std::size_t i = 0; i < table.outputs.size(); ++i) {
    if (table.label_words[i].empty() || !own.classes_of(table.outputs[i].name).empty()) continue;
    throw Error(fmt::format("{}: expected numbers as labels, as in the training data, found the word '{}'",
                            table.outputs[i].array.row_text(0), shortened(table.label_words[i].front())));
  }
  return encoded(std::move(table), own);
}

/// The criteria for bad examples, and their handling.
struct Terms {
  std::optional<ExampleSpec> spec;
  Wanted wanted;
  OnBadExample on_bad = OnBadExample::kError;
  int threads = 1;
  Holding holding;

  Terms(const DataOptions& options, const ExampleSpec* of_model)
      : spec(of_model != nullptr ? std::optional(spec_before_bins(*of_model, options.preprocessing)) : std::nullopt),
        wanted(wanted_by(spec ? &*spec : nullptr, options.preprocessing)),
        on_bad(options.on_bad_example),
        holding(options) {
    const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
    threads = static_cast<int>(options.threads.value_or(cores));
  }
  Terms(const Terms&) = delete;
  /// Which of the model's outputs labels are for. They have no name where there is one.
  std::size_t output_of(const Labels& labels) const {
    if (wanted.spec == nullptr || labels.name.empty()) return 0;
    const auto found = std::ranges::find(wanted.spec->labels, labels.name, &LabelSpec::name);
    if (found != wanted.spec->labels.end()) return static_cast<std::size_t>(found - wanted.spec->labels.begin());
    throw Error(fmt::format("the model has no output '{}'", labels.name));
  }
  BadExamples gather() const { return BadExamples(on_bad, threads); }
  /// Whether an output's labels must be numbers, for the loss to compare.
  bool wants_numbers(std::size_t output) const {
    return wanted.spec != nullptr && wanted.one_hot_depth(output) == 0 && wanted.spec->labels[output].are_numbers();
  }
};

PictureLabels picture_labels(const std::vector<std::string>* known, const Terms& terms) {
  return {.classes = known, .are_numbers = terms.wants_numbers(0)};
}

/// A table, in memory if it is small enough.
CsvTable table_of(const Csv& source, const CsvReading& reading, const Terms& terms) {
  if (!exceeds_in_memory(source, terms.holding.most_bytes)) return read_table(source, reading);
  return open_table(source, reading, terms.holding.unpacked, terms.threads);
}

Examples read_table_of(const Csv& source, const Adapted& adapted, BadExamples* bad, const Terms& terms) {
  CsvTable table = table_of(source, {&adapted, true, bad}, terms);
  if (adapted.table) return encoded(std::move(table), adapted, bad);
  return encoded_by_itself(source, std::move(table), adapted);
}

/// Records, in memory if they are few enough.
Examples records_of(const TfRecord& source, BadExamples& bad, const Terms& terms) {
  if (most_bytes_of_records(source) <= terms.holding.most_bytes) return read(source, bad.if_skips());
  return settled(open_records(source, bad.if_skips(), terms.holding.unpacked), terms.holding, false);
}

/// Windows of texts, in memory if they are few enough.
TokenWindows windows_of(const Text& source, const Terms& terms) {
  if (most_bytes_of_windows(source) <= terms.holding.most_bytes) return read_windows(source);
  TokenWindows windows = open_windows(source, terms.holding.unpacked);
  windows.examples = settled(std::move(windows.examples), terms.holding, false);
  return windows;
}

/// Reads windows of a split other than train, which must have train's vocabulary.
Examples read_windows_of(const Text& source, const Adapted& adapted, const Terms& terms) {
  TokenWindows windows = windows_of(source, terms);
  const std::vector<std::string>& known = adapted.classes_of("");
  if (!known.empty() && windows.tokens != known) {
    throw Error(
        fmt::format("{}: expected the vocabulary of the training data, {} tokens, found {}; give every split "
                    "the same vocabulary",
                    source.vocabulary ? source.vocabulary->text : windows.examples.inputs.front().array.origin,
                    known.size(), source.vocabulary ? fmt::format("another of {}", windows.tokens.size()) : "bytes"));
  }
  return std::move(windows.examples);
}

/// Examples of arrays, in memory if they are few enough.
template <class Format>
Examples opened(const Format& source, const Terms& terms) {
  return settled(
      open(source), terms.holding, requires { source.all_inputs(); });
}

template <class AnySource>
Dataset read_source(const AnySource& source, const AdaptedLater& adapted, const Terms& terms) {
  BadExamples bad = terms.gather();
  return std::visit(
      [&](const auto& held) -> Dataset {
        using Format = std::decay_t<decltype(held)>;
        if constexpr (is_table<Format>) {
          Examples examples = read_table_of(held, adapted(), bad.if_skips(), terms);
          return usable(std::move(examples), terms.wanted, std::move(bad));
        } else if constexpr (std::is_same_v<Format, ImageFolder>) {
          Examples examples =
              find_pictures(held, picture_labels(&adapted().classes_of(""), terms), bad.if_skips()).examples;
          return usable(std::move(examples), terms.wanted, std::move(bad));
        } else if constexpr (std::is_same_v<Format, Text>) {
          return usable(read_windows_of(held, adapted(), terms), terms.wanted, std::move(bad));
        } else if constexpr (requires { open(held); }) {
          return usable(opened(held, terms), terms.wanted, std::move(bad));
        } else if constexpr (std::is_same_v<Format, TfRecord>) {
          Examples examples = records_of(held, bad, terms);
          return usable(std::move(examples), terms.wanted, std::move(bad));
        } else if constexpr (std::is_same_v<Format, WebDataset>) {
          const SampleLabels labels{&adapted().classes_of(""), terms.wants_numbers(0)};
          Examples examples = open_classed_samples(held, labels, bad.if_skips(), terms.holding.unpacked).examples;
          return usable(std::move(examples), terms.wanted, std::move(bad));
        } else if constexpr (requires { read(held); }) {
          return usable(read(held), terms.wanted, std::move(bad));
        } else {
          throw Error("a part of train is no source of its own");
        }
      },
      source);
}

const ValidationFraction* fraction_of(const DataOptions& options) {
  return options.validation.value ? std::get_if<ValidationFraction>(&*options.validation.value) : nullptr;
}

Dataset part_of(const Dataset& whole, const std::vector<std::int64_t>& rows, bool is_range) {
  if (is_range) return whole.view(rows.front(), static_cast<std::int64_t>(rows.size()));
  return whole.select(rows);
}

/// Throws Error if an output's labels have more classes than the model distinguishes.
void require_outputs(const std::vector<std::string>& classes, std::size_t output, const std::string& origin,
                     const Wanted& wanted) {
  if (wanted.spec == nullptr || classes.empty()) return;
  const LabelSpec& spec = wanted.spec->labels[output];
  const std::int64_t depth = wanted.one_hot_depth(output);
  const bool tells_two = depth == 0 && spec.classes == 0 && spec.probabilities;
  const auto most = static_cast<std::size_t>(depth > 0 ? depth : tells_two ? 2 : spec.classes);
  if (most == 0 || classes.size() <= most) return;
  const std::string of = wanted.spec->labels.size() > 1 ? fmt::format(" of '{}'", spec.name) : "";
  const std::string found = fmt::format("{}: the labels{} have {} classes ({})", origin, of, classes.size(),
                                        shortened(fmt::format("{}", fmt::join(classes, ", ")), 120));
  if (tells_two) {
    throw Error(found +
                ", but the loss distinguishes two; take sparse_categorical_crossentropy, with an output for each");
  }
  throw Error(fmt::format(
      "{}, but {} {}, so that '{}' has none; {}", found,
      depth > 0 ? "one_hot has the depth" : "the outputs of the model are", most, shortened(classes[most]),
      depth > 0 ? "make the depth and the outputs as many as the classes" : "give the model an output for each class"));
}

struct Training {
  Dataset train;
  std::optional<Dataset> validation;  ///< a part of the same source
  Adapted adapted;
};

Training make_parts(const Dataset& whole, const SplitRows& rows, Adapted adapted) {
  Training training{part_of(whole, rows.train, rows.is_range), std::nullopt, std::move(adapted)};
  if (!rows.validation.empty()) training.validation = part_of(whole, rows.validation, rows.is_range);
  return training;
}

/// Updates a part of the rows `before` when only `after` of them are left; both are numbers in the files, ascending,
/// empty for all.
void follow(const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
            std::vector<std::int64_t>& part) {
  if (after.empty()) return;
  std::vector<std::int64_t> left;
  for (const std::int64_t row : part) {
    const std::int64_t place = before.empty() ? row : before[static_cast<std::size_t>(row)];
    const auto at = std::ranges::lower_bound(after, place);
    if (at != after.end() && *at == place) left.push_back(at - after.begin());
  }
  part = std::move(left);
}

/// Throws Error if labels are words, but the loss compares numbers: words such as 50% would become classes.
void require_numbers_as_labels(const CsvTable& table, const Csv& source, const Terms& terms) {
  for (std::size_t i = 0; i < table.outputs.size(); ++i) {
    const Labels& labels = table.outputs[i];
    if (table.label_words[i].empty() || !terms.wants_numbers(terms.output_of(labels))) continue;
    const std::string& word = table.label_words[i].front();
    const std::string hint = mistaken_number(word, source.decimal.front());
    std::int64_t first = 0;
    while (!labels.is_present(first)) ++first;
    throw Error(
        fmt::format("{}: the label '{}'{} is a word, and the loss compares numbers; {}", labels.array.row_text(first),
                    shortened(word), labels.name.empty() ? "" : fmt::format(" of the output '{}'", labels.name),
                    !hint.empty() ? hint : "for classes take sparse_categorical_crossentropy, with an output each"));
  }
}

/// Leaves out the rows with numbers as labels that the model does not accept, before the parts are split.
void leave_out_wrong_labels(CsvTable& table, const Terms& terms, BadExamples& bad) {
  for (std::size_t i = 0; i < table.outputs.size(); ++i) {
    if (!table.label_words[i].empty()) continue;
    const auto wrong = rows_with_wrong_labels(table.outputs[i], terms.output_of(table.outputs[i]), terms.wanted, bad);
    if (!wrong.empty()) keep_rows(table, rows_but(table.rows(), wrong));
  }
}

/// The class of each example by the first of the model's outputs that has classes.
std::optional<std::vector<std::int64_t>> classes_of(const std::vector<Labels>& outputs, const Terms& terms) {
  const std::size_t count = terms.wanted.spec != nullptr ? terms.wanted.spec->labels.size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (const Labels& labels : outputs) {
      if (terms.output_of(labels) != i) continue;
      if (auto classes = example_classes(labels, 0, labels.array.rows(), i, terms.wanted)) return classes;
    }
  }
  return std::nullopt;
}

/// The numbers of rows that turn out to be bad after the parts are split, with the reason where it is kept.
using LateRows = std::map<std::int64_t, std::string>;

/// Adds the rows that were left out, but for those of `early`. Returns whether any is new.
bool add_late(const LeftOut& left, const std::set<std::int64_t>& early, LateRows& late) {
  const std::size_t before = late.size();
  for (const std::int64_t row : left.rows) {
    if (!early.contains(row)) late.try_emplace(row);
  }
  for (std::size_t i = 0; i < left.reasons.size(); ++i) {
    const auto found = late.find(left.of_reasons[i]);
    if (found != late.end()) found->second = left.reasons[i];
  }
  return late.size() > before;
}

/// Leaves out rows that are known to be bad, before the parts are split.
void leave_out_known(CsvTable& table, const LateRows& known, BadExamples& bad) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const auto found = known.find(table.features.row_in_files(row));
    if (found == known.end()) continue;
    bad.add(found->first, found->second);
    rows.push_back(row);
  }
  if (!rows.empty()) keep_rows(table, rows_but(table.rows(), rows));
}

/// Reads and splits the table without the rows of `late`. nullopt if others turn out to be bad too late, which are then
/// in `late`, too.
std::optional<Training> adapt(const Csv& source, const DataOptions& options, std::uint64_t seed, const Terms& terms,
                              LateRows& late) {
  BadExamples bad = terms.gather();
  CsvTable table = table_of(source, {nullptr, true, bad.if_skips()}, terms);
  if (bad.skips()) leave_out_wrong_labels(table, terms, bad);
  leave_out_known(table, late, bad);
  const std::string origin = table.features.origin;
  if (table.rows() == 0 && bad.any()) std::move(bad).left_out(0, origin);
  if (table.rows() == 0) throw Error(fmt::format("{}: expected at least one example, found none", origin));
  require_numbers_as_labels(table, source, terms);
  SplitRows rows = split_rows({table.rows(), origin, false, classes_of(table.outputs, terms)}, options, seed);
  Adapted adapted{sorted_classes(table), adapted_table(table, source, rows.train)};
  number_together(*adapted.table, terms.wanted.spec, origin);
  check_lookups(*adapted.table, terms.wanted.spec, origin);
  for (const Labels& labels : table.outputs) {
    // One misspelt word is a class more: skipping rows would leave out a whole other class in its place.
    const bool are_words = !table.label_words[static_cast<std::size_t>(&labels - table.outputs.data())].empty();
    if (are_words || !bad.skips()) {
      require_outputs(adapted.classes_of(labels.name), terms.output_of(labels), origin, terms.wanted);
    }
  }
  const std::vector<std::int64_t> before = table.outputs.front().array.picked;
  // Words that occur only in the validation part do not count as training data.
  Examples examples = encoded(std::move(table), adapted, bad.if_skips());
  const std::set<std::int64_t> early(bad.rows().begin(), bad.rows().end());
  const Dataset whole = usable(std::move(examples), terms.wanted, std::move(bad));
  if (const LeftOut* const left = whole.left_out(); left != nullptr && add_late(*left, early, late))
    return std::nullopt;
  follow(before, whole.labels(0).picked, rows.train);
  const bool has_part = !rows.validation.empty();
  follow(before, whole.labels(0).picked, rows.validation);
  if (rows.train.empty() || (has_part && rows.validation.empty())) {
    throw Error(fmt::format("data.on_bad_example: without the {} examples of {} that cannot be used, {} has none left",
                            whole.left_out()->count(), origin, rows.train.empty() ? "train" : "validation"));
  }
  return make_parts(whole, rows, std::move(adapted));
}

/// Pictures are looked at, and numbers compared with what the model takes, after the parts are split:
/// where rows are left out then, all is done once more without them, so that the parts are those of a table
/// that never had them.
Training adapt(const Csv& source, const DataOptions& options, std::uint64_t seed, const Terms& terms) {
  LateRows late;
  while (true) {
    if (std::optional<Training> training = adapt(source, options, seed, terms, late)) return *std::move(training);
  }
}

Training read_training(const DataOptions& options, std::uint64_t seed, const Terms& terms) {
  return std::visit(
      [&](const auto& source) -> Training {
        using Format = std::decay_t<decltype(source)>;
        BadExamples bad = terms.gather();
        const auto parts_of = [&](Examples examples, std::vector<std::string> classes) {
          constexpr bool kIsSortedByClass = std::is_same_v<Format, ImageFolder>;
          constexpr bool kMayHaveClasses = kIsSortedByClass || std::is_same_v<Format, WebDataset>;
          if (kMayHaveClasses && !bad.skips()) {
            require_outputs(classes, 0, examples.outputs.front().array.origin, terms.wanted);
          }
          const Dataset whole = usable(std::move(examples), terms.wanted, std::move(bad));
          const std::string& origin = kIsSortedByClass ? whole.labels(0).origin : whole.features(0).origin;
          const SplitRows rows =
              split_rows({whole.rows(), origin, kIsSortedByClass, classes_of(whole.outputs(), terms)}, options, seed);
          Adapted adapted;
          if (!classes.empty()) adapted.classes[""] = std::move(classes);
          return make_parts(whole, rows, std::move(adapted));
        };
        if constexpr (is_table<Format>) {
          return adapt(source, options, seed, terms);
        } else if constexpr (std::is_same_v<Format, ImageFolder>) {
          FoundPictures found = find_pictures(source, picture_labels(nullptr, terms), bad.if_skips());
          return parts_of(std::move(found.examples), std::move(found.classes));
        } else if constexpr (std::is_same_v<Format, Text>) {
          TokenWindows windows = windows_of(source, terms);
          const Array& tokens = windows.examples.inputs.front().array;
          check_lookups(tokens.tokens, terms.wanted.spec, tokens.origin);
          return parts_of(std::move(windows.examples), std::move(windows.tokens));
        } else if constexpr (requires { open(source); }) {
          return parts_of(opened(source, terms), {});
        } else if constexpr (std::is_same_v<Format, TfRecord>) {
          return parts_of(records_of(source, bad, terms), {});
        } else if constexpr (std::is_same_v<Format, WebDataset>) {
          ClassedSamples samples =
              open_classed_samples(source, {nullptr, terms.wants_numbers(0)}, bad.if_skips(), terms.holding.unpacked);
          return parts_of(std::move(samples.examples), std::move(samples.classes));
        } else {
          return parts_of(read(source), {});
        }
      },
      options.train.value);
}

template <class Optional>
std::optional<Dataset> read_optional(const Optional& source, const AdaptedLater& adapted, const Terms& terms) {
  return source ? std::optional(read_source(*source, adapted, terms)) : std::nullopt;
}

/// "'Aye' is new, 'Yes' is gone"; "" if two lists have the same words.
std::string changed_words(const std::vector<std::string>& now, const std::vector<std::string>& before) {
  const auto missing_in = [](const std::vector<std::string>& all, const std::vector<std::string>& words) {
    const auto is_new = [&](const std::string& word) { return !std::ranges::binary_search(all, word); };
    const auto found = std::ranges::find_if(words, is_new);
    return found == words.end() ? std::string() : "'" + shortened(*found) + "'";
  };
  const std::string added = missing_in(before, now), gone = missing_in(now, before);
  if (added.empty() || gone.empty()) return added.empty() ? gone.empty() ? "" : gone + " is gone" : added + " is new";
  return added + " is new, " + gone + " is gone";
}

/// Throws Error if the training data's classes or words are not those that a run was trained with: their numbers would
/// have another meaning.
void require_same_words(const Adapted& now, const Adapted& before) {
  const auto require = [](const std::string& what, const std::string& changed) {
    if (changed.empty()) return;
    throw Error(
        fmt::format("{} are not those that the run was trained with: {}; give it the data that it was trained "
                    "on, or evaluate the new data as data.test",
                    what, changed));
  };
  for (const auto& [output, words] : now.classes) {
    require("the classes of the training data", changed_words(words, before.classes_of(output)));
  }
  for (const auto& [output, words] : before.classes) {
    require("the classes of the training data", changed_words(now.classes_of(output), words));
  }
  if (!now.table || !before.table || now.table->features.size() != before.table->features.size()) return;
  for (std::size_t i = 0; i < now.table->features.size(); ++i) {
    const AdaptedColumn& column = now.table->features[i];
    require("the words of " + now.table->text_of(column.column),
            changed_words(column.words, before.table->features[i].words));
  }
  for (const TableInput& input : now.table->inputs) {
    const TableInput* const known = before.table->find_input(input.name);
    const auto* const texts = std::get_if<TableInput::Texts>(&input.content);
    const auto* const before_texts = known != nullptr ? std::get_if<TableInput::Texts>(&known->content) : nullptr;
    if (texts == nullptr || before_texts == nullptr || texts->vocabulary == before_texts->vocabulary) continue;
    require(fmt::format("the tokens of '{}'", input.name), texts->vocabulary_name + " has changed");
  }
}

}  // namespace

bool needs_adapted(const DataOptions& options, Split split) {
  const auto needs = [](const auto& source) {
    return source && (table_in(*source) != nullptr || std::holds_alternative<ImageFolder>(*source) ||
                      std::holds_alternative<WebDataset>(*source));
  };
  return split == Split::kTest ? needs(options.test.value) : needs(options.validation.value);
}

const char* name_of(Split split) {
  switch (split) {
    case Split::kTrain: return "train";
    case Split::kValidation: return "validation";
    case Split::kTest: return "test";
  }
  return "";
}

SplitKey key_of(const DataOptions& options, Split split) {
  switch (split) {
    case Split::kTrain: return {options.train.place, options.train.path};
    case Split::kValidation: return {options.validation.place, options.validation.path};
    case Split::kTest: return {options.test.place, options.test.path};
  }
  return {};
}

std::string missing_text(const DataOptions& options, Split split) {
  const bool has_validation = options.validation.value.has_value(), has_test = options.test.value.has_value();
  return fmt::format("--split {0}: the configuration has no data.{0}; choose --split train{1}{2}", name_of(split),
                     has_validation ? " or --split validation" : "", has_test ? " or --split test" : "");
}

Splits load(const DataOptions& options, std::uint64_t seed, const ExampleSpec* spec) {
  const Terms terms(options, spec);
  const ValidationFraction* const fraction = fraction_of(options);
  std::future<std::optional<Dataset>> test, validation;
  std::promise<Adapted> promise;  // destroyed first, so that no future waits for it if reading train fails
  const AdaptedLater later = [known = promise.get_future().share()]() -> const Adapted& { return known.get(); };
  test = std::async(std::launch::async, [&, later] {
    return at_its_place(options.test, [&] { return read_optional(options.test.value, later, terms); });
  });
  validation = std::async(std::launch::async, [&, later]() -> std::optional<Dataset> {
    if (fraction != nullptr) return std::nullopt;
    return at_its_place(options.validation, [&] { return read_optional(options.validation.value, later, terms); });
  });
  Training training = at_its_place(options.train, [&] { return read_training(options, seed, terms); });
  promise.set_value(training.adapted);
  Splits splits{std::move(training.train), validation.get(), test.get(), std::move(training.adapted)};
  if (training.validation) splits.validation = std::move(training.validation);
  return splits;
}

bool is_drawn_from_train(const DataOptions& options, Split split) {
  return split == Split::kValidation && fraction_of(options) != nullptr;
}

std::optional<LoadedSplit> load(const DataOptions& options, std::uint64_t seed, const ExampleSpec* spec, Split wanted,
                                const Adapted* known) {
  const Terms terms(options, spec);
  const bool is_of_train = wanted == Split::kTrain || is_drawn_from_train(options, wanted);
  std::optional<Training> training;
  if (is_of_train || (known == nullptr && needs_adapted(options, wanted)))
    training = at_its_place(options.train, [&] {
      Training read = read_training(options, seed, terms);
      if (known != nullptr) require_same_words(read.adapted, *known);
      return read;
    });
  Adapted adapted = known != nullptr ? *known : training ? training->adapted : Adapted{};
  if (wanted == Split::kTrain) return LoadedSplit{std::move(training->train), std::move(adapted)};
  if (is_of_train) return LoadedSplit{*std::move(training->validation), std::move(adapted)};
  const AdaptedLater later = [&]() -> const Adapted& { return adapted; };
  auto dataset = at_its_place(key_of(options, wanted), [&] {
    return wanted == Split::kTest ? read_optional(options.test.value, later, terms)
                                  : read_optional(options.validation.value, later, terms);
  });
  if (!dataset) return std::nullopt;
  return LoadedSplit{*std::move(dataset), std::move(adapted)};
}

}  // namespace mirrortrain::data
