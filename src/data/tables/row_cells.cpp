#include "data/tables/row_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/utf8.h"
#include "data/pictures/picture_files.h"
#include "data/tables/value_cells.h"

namespace mirrortrain::data {
namespace {

/// The file that the cell of a cursor names, a path below `folder`. Throws Error, naming the cell, if there is none.
std::string read_picture(TableCursor& at, const std::filesystem::path& folder) {
  const std::string_view name = at.read_word();
  if (name.empty()) at.fail("expected the path of a picture, found an empty cell; fill it in or remove the row");
  if (!is_below(name)) {
    at.fail(
        fmt::format("expected the path of a picture below the table's folder, found '{}'; move the pictures there, "
                    "or link them",
                    shortened(name, 200)));
  }
  std::string file = (folder / name).string();
  if (is_file(file)) return file;
  at.fail(
      fmt::format("there is no picture {}; correct the path, which is relative to the table's folder, or remove the "
                  "row",
                  shortened(file, 200)));
}

}  // namespace

RowCells::RowCells(const Csv& options, const CsvReading& reading, const AdaptedTable& columns,
                   std::shared_ptr<const TableWords> known)
    : columns_(columns), known_(std::move(known)), pictures_(columns.inputs.size()) {
  if (!known_) words_.resize(columns.features.size());
  for (const AdaptedColumn& column : columns.features) {
    bins_.push_back(column.is_hashed() ? std::optional<WordBins>(*column.encoding) : std::nullopt);
    fingerprints_.emplace_back(column.crossing ? column.crossing->parts.size() : 0);
  }
  for (const TableInput& input : columns.inputs) {
    const auto* const own = std::get_if<TableInput::Texts>(&input.content);
    texts_.push_back(own != nullptr ? std::optional<TextCells>(*own) : std::nullopt);
  }
  if (!reading.wants_labels) return;
  for (const CsvOutput& output : outputs_of(options)) {
    outputs_.push_back({LabelCells(output, reading.adapted), listed(output.labels->value).size()});
    if (!known_) continue;
    outputs_.back().labels.set_known_words(&known_->labels[outputs_.size() - 1]);
    outputs_.back().labels.set_kind(known_->kinds[outputs_.size() - 1]);
  }
}

void RowCells::go_to_next_row() {
  features_ += columns_.features.size();
  for (Output& output : outputs_) {
    output.label += output.width;
    if (output.weight != nullptr) ++output.weight;
    if (output.present != nullptr) ++output.present;
  }
}

void RowCells::read(TableCursor& at, const ColumnUses& uses) {
  at.begin_row();
  for (Output& output : outputs_) {
    if (output.present != nullptr) *output.present = 1;
  }
  for (std::size_t column = 0; column < uses.size(); ++column) {
    at.begin_cell(column);
    if (uses[column].empty()) at.read_word();
    for (const ColumnUse& use : uses[column]) {
      at.read_again();
      read_cell(at, use);
      if (&use != &uses[column].back()) at.pass_separator();  // what follows must be read whole each time
    }
    at.pass_separator();
  }
  for (std::size_t i = 0; features_ != nullptr && i < fingerprints_.size(); ++i) {
    if (const auto& crossing = columns_.features[i].crossing) {
      features_[i] = static_cast<double>(crossed_bin(fingerprints_[i], crossing->bins));
    }
  }
  for (Output& output : outputs_) {
    if (output.present != nullptr && *output.present == 0) std::fill_n(output.label, output.width, 0.0);
  }
}

void RowCells::read_cell(TableCursor& at, const ColumnUse& use) {
  switch (use.kind) {
    case ColumnUse::Kind::kNumber: features_[use.place] = read_number(at, may_be_missing(use.place)); break;
    case ColumnUse::Kind::kWord:
      if (bins_[use.place]) {
        features_[use.place] = static_cast<double>((*bins_[use.place])(read_plain_word(at, may_be_missing(use.place))));
        break;
      }
      features_[use.place] = known_ ? read_known_word(at, may_be_missing(use.place), known_->features[use.place])
                                    : read_word(at, may_be_missing(use.place), words_[use.place]);
      break;
    case ColumnUse::Kind::kCrossed: {
      const Crossing::Part& part = columns_.features[use.place].crossing->parts[use.within];
      fingerprints_[use.place][use.within] = part.is_integer ? static_cast<std::uint64_t>(read_integer(at))
                                                             : fingerprint(read_plain_word(at, part.may_be_missing));
      break;
    }
    case ColumnUse::Kind::kPicture:
      pictures_[use.place] = known_ ? (folder_ / at.read_word()).string() : read_picture(at, folder_);
      break;
    case ColumnUse::Kind::kText: texts_[use.place]->read(at); break;
    case ColumnUse::Kind::kLabel: {
      Output& output = outputs_[use.place];
      const std::optional<double> label = output.labels.read(at);
      output.label[use.within] = label.value_or(0);
      if (!label) *output.present = 0;
      break;
    }
    case ColumnUse::Kind::kWeight: *outputs_[use.place].weight = read_weight(at); break;
  }
}

std::vector<LabelCells::Kind> RowCells::kinds() const {
  std::vector<LabelCells::Kind> kinds;
  for (const Output& output : outputs_) kinds.push_back(output.labels.kind());
  return kinds;
}

void RowCells::set_kinds(const std::vector<LabelCells::Kind>& kinds) {
  for (std::size_t i = 0; i < kinds.size(); ++i) outputs_[i].labels.set_kind(kinds[i]);
}

}  // namespace mirrortrain::data
