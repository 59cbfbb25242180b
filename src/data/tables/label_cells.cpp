#include "data/tables/label_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "data/tables/value_cells.h"

namespace mirrortrain::data {

LabelCells::LabelCells(const CsvOutput& output, const Adapted* adapted)
    : name_(output.name),
      columns_(listed(output.labels->value).size()),
      ignores_missing_(ignores_missing(output.labels->value)) {
  known_words_ = adapted != nullptr && !adapted->classes_of(name_).empty();
  known_numbers_ = adapted != nullptr && !known_words_ && adapted->table.has_value();
  if (known_words_) kind_ = Kind::kWords;
  if (known_numbers_) kind_ = Kind::kNumbers;
}

std::optional<double> LabelCells::read(TableCursor& at) {
  if (ignores_missing_ && is_missing(at)) return std::nullopt;
  if (kind_ != Kind::kWords) {
    if (const std::optional<double> value = at.text().whole_number<double>()) {
      kind_ = Kind::kNumbers;
      return ignores_missing_ && at.is_mark(*value) ? std::nullopt : value;
    }
    require_words(at);
    kind_ = Kind::kWords;
  }
  if (at.text().empty_cell()) fail_at_label(at);
  if (!known_words_ && at.text().whole_number<double>()) {
    throw NotToBeLeftOut(
        fmt::format("{}: expected a word as in the {} before, found the number '{}'; write all labels as numbers "
                    "or all as words{}",
                    at.place_text(), columns_ > 1 ? "labels" : "rows", shortened(at.raw_cell()),
                    ignores_missing_ ? ", and list in missing_values the words that stand for a missing label" : ""));
  }
  if (known_ != nullptr) return known_number_of(at.read_word(), *known_, at);
  return static_cast<double>(number_of(at.read_word(), words_, at));
}

/// Whether the cell is empty, also in quotes, or stands for a missing label; if so, skips it. NA and the like do so
/// among numbers alone, as they may be the names of classes.
bool LabelCells::is_missing(TableCursor& at) {
  const char* const start = at.text().position();
  const std::string_view found = at.read_word();
  if (found.empty() || at.is_mark(found)) return true;
  const bool is_known = kind_ != Kind::kUnknown, may_be_mark = is_missing_mark(found);
  if (may_be_mark && !is_known && at.numbers_follow()) kind_ = Kind::kNumbers;
  if (may_be_mark && kind_ == Kind::kNumbers) return true;
  at.text().go_back(start);
  return false;
}

/// Throws Error if a cell that is no number cannot be a word either.
void LabelCells::require_words(TableCursor& at) {
  const bool may_be_words =
      kind_ == Kind::kUnknown && !at.text().empty_cell() && !at.is_nonfinite_number() && !at.is_mark(at.plain_cell());
  if (!may_be_words) fail_at_label(at);
  if (const std::string hint = at.number_hint(); !hint.empty()) {
    at.fail(fmt::format("expected a number or a word, found '{}'{}", shortened(at.raw_cell()), hint));
  }
}

/// What to do where a label is missing, with which the row counts nothing for this output.
std::string LabelCells::remedy_of_empty() const {
  const std::string own = "{column: ..., missing: ignore}";
  return fmt::format("or write labels: {}, with which such an example counts nothing{}",
                     name_.empty() ? own : fmt::format("{{{}: {}}}", name_, own),
                     name_.empty() ? "" : fmt::format(" for '{}'", name_));
}

void LabelCells::fail_at_label(TableCursor& at) const {
  if (at.text().empty_cell()) {
    at.fail(fmt::format("expected a label, found an empty cell; fill it in, {}",
                        columns_ > 1
                            ? "with any class where the features are padding that the model masks, or remove the row"
                            : "remove the row, " + remedy_of_empty()));
  }
  std::string hint;
  if (kind_ == Kind::kNumbers && !at.is_nonfinite_number()) {
    hint = fmt::format("; the labels {} are numbers, so write all of them as numbers",
                       known_numbers_ ? "of the training data" : "before");
  }
  if (looks_missing(at.plain_cell())) {
    const std::string list = fmt::format("list it, as missing_values: [\"{}\"]", at.plain_cell());
    hint = ignores_missing_ ? fmt::format("; if it stands for a missing label, {}", list)
           : columns_ == 1  ? fmt::format("; correct it, remove the row, {}, and {}", remedy_of_empty(), list)
                            : "; correct it or remove the row";
  } else if (hint.empty() && at.is_nonfinite_number()) {
    hint = "; correct it or remove the row";
  }
  at.fail(fmt::format("expected a finite number, found '{}'{}", shortened(at.raw_cell()), hint));
}

}  // namespace mirrortrain::data
