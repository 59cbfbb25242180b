#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/tables/adapted.h"
#include "data/tables/column_uses.h"
#include "data/tables/csv_table.h"
#include "data/tables/label_cells.h"
#include "data/tables/table_cursor.h"
#include "data/tables/text_cells.h"
#include "data/tables/value_cells.h"
#include "data/tables/word_list.h"

namespace mirrortrain::data {

/// The words of a table that was read, in whose numbers its rows are read again.
struct TableWords {
  std::vector<WordList> features;       ///< of each column of numbers and words; empty for numbers
  std::vector<WordList> labels;         ///< of each output; empty for numbers
  std::vector<LabelCells::Kind> kinds;  ///< of each output
};

/// Reads the cells of a table's rows, one row after the other.
class RowCells {
 public:
  /// The labels and the weights of an output, and where those of the next row go.
  struct Output {
    LabelCells labels;
    std::size_t width = 1;
    double* label = nullptr;
    double* weight = nullptr;         ///< null if it has no weights
    std::uint8_t* present = nullptr;  ///< null if no label may be missing
  };

  /// All three must outlive this, and may not move. `known`: the words that there are; null: new ones are numbered in
  /// order of appearance.
  RowCells(const Csv& options, const CsvReading& reading, const AdaptedTable& columns,
           std::shared_ptr<const TableWords> known = nullptr);

  /// Where the next row's numbers go: those of all columns of numbers and words.
  void set_features(double* to) { features_ = to; }
  std::vector<Output>& outputs() { return outputs_; }
  /// To the place behind the row.
  void go_to_next_row();
  /// Of the table, below which its pictures are.
  void set_folder(std::filesystem::path folder) { folder_ = std::move(folder); }

  /// Reads the row at the cursor. Throws Error, naming the cell, for one that cannot be read.
  void read(TableCursor& at, const ColumnUses& uses);
  /// The file of the row's picture for an input.
  const std::string& picture(std::size_t input) const { return pictures_[input]; }
  /// The reader of an input's texts, which has the row's; null for numbers, words and pictures.
  TextCells* texts(std::size_t input) { return texts_[input] ? &*texts_[input] : nullptr; }

  std::vector<LabelCells::Kind> kinds() const;
  void set_kinds(const std::vector<LabelCells::Kind>& kinds);
  std::vector<WordList> take_words() { return std::move(words_); }

 private:
  void read_cell(TableCursor& at, const ColumnUse& use);
  bool may_be_missing(std::size_t feature) const { return columns_.features[feature].missing.has_value(); }

  const AdaptedTable& columns_;
  std::shared_ptr<const TableWords> known_;
  std::vector<WordList> words_;
  std::vector<std::optional<WordBins>> bins_;             ///< of each feature that is encoded by hashes
  std::vector<std::vector<std::uint64_t>> fingerprints_;  ///< of the row's words, for each feature that is a crossing
  std::vector<std::optional<TextCells>> texts_;           ///< of each input; null for numbers, words and pictures
  std::vector<std::string> pictures_;                     ///< of each input
  std::vector<Output> outputs_;
  std::filesystem::path folder_;
  double* features_ = nullptr;
};

}  // namespace mirrortrain::data
