#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "data/first_look/column_kinds.h"
#include "data/first_look/table_columns.h"
#include "data/tables/csv.h"

namespace mirrortrain::data {

/// A column in options: its name, or its number if the name is not unique.
CsvColumn column_key(const TableColumn& column, std::size_t number, bool has_header);
/// The same as YAML.
std::string text_of(const CsvColumn& column);

/// The options for the features of a table: which columns they are, if not all, and how they are read. Columns of ids,
/// pictures and texts are inputs of their own; the others are then one input, too.
class FeatureColumns {
 public:
  /// `columns` and `csv`, the options so far, must outlive it. `folder`: the table's.
  FeatureColumns(const std::vector<TableColumn>& columns, std::size_t label, bool has_header,
                 const std::filesystem::path& folder, Csv& csv);

  bool none() const { return features_.empty() && inputs_.empty(); }
  /// The reasons why columns are left out.
  const std::vector<std::string>& left_out() const { return left_out_; }
  /// Which columns are inputs of their own, and why.
  const std::vector<std::string>& proposed() const { return proposed_; }
  /// Whether some rows name no picture that exists.
  bool lacks_pictures() const { return lacks_pictures_; }
  /// Their keys of `data.train`, each preceded by ", "; also sets them in the options.
  std::string text(std::vector<std::string>& remarks);

 private:
  struct Input {
    std::string name;
    CsvInput columns;
    std::string text;  ///< of the columns
  };

  void add(std::size_t i, bool has_header, const std::filesystem::path& folder);
  void add_input(const TableColumn& column, const CsvColumn& key, const ColumnLook& look);
  void add_encoding(const CsvColumn& key, Encoding encoding, std::string text);
  std::string columns_text();
  std::string unique_name(const std::string& column) const;

  const std::vector<TableColumn>& columns_;
  Csv& csv_;
  std::set<std::string> marks_;      ///< of missing numbers, which are to be listed
  std::vector<CsvColumn> features_;  ///< that are side by side
  std::vector<Input> inputs_;        ///< the others
  std::vector<std::string> listed_, encodings_, left_out_, proposed_;
  bool has_missing_ = false, lacks_pictures_ = false;
};

}  // namespace mirrortrain::data
