#include "data/loading/training_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "data/loading/lookups.h"
#include "data/loading/open_source.h"
#include "data/tables/mistaken_number.h"
#include "data/usable.h"

namespace mirrortrain::data {
namespace {

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
std::optional<Training> read_without(const Csv& source, const DataOptions& options, std::uint64_t seed,
                                     const Terms& terms, LateRows& late) {
  BadExamples bad = terms.gather();
  CsvTable table = table_of(source, {nullptr, true, bad.if_skips()}, terms.holding, terms.threads);
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

}  // namespace

Training read_training_table(const Csv& source, const DataOptions& options, std::uint64_t seed, const Terms& terms) {
  LateRows late;
  while (true) {
    if (std::optional<Training> training = read_without(source, options, seed, terms, late))
      return *std::move(training);
  }
}

}  // namespace mirrortrain::data
