#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tables/csv_rows.h"

namespace mirrortrain::data {

/// Rows of JSON, an object a line with the columns' names as keys; they become rows of CSV. A missing key and null are
/// an empty cell.
class JsonRows : public TableRows {
 public:
  /// `table`: of the training data, which gives the columns; both must outlive the rows. `reports_rows`: as open_rows
  /// takes it.
  JsonRows(TextAhead text, const AdaptedTable& table, const Csv& options, bool reports_rows);

  std::vector<std::string> names() override;
  void want(const std::vector<std::string>& columns) override;
  bool are_cells_json() const override { return true; }
  std::optional<TablePart> next(std::int64_t most) override;
  bool at_end() override;
  std::uint64_t bytes_read() const override { return ahead_.bytes_read(); }
  std::optional<std::uint64_t> bytes() const override { return ahead_.bytes(); }

 private:
  /// What a column's values may be.
  struct Column {
    std::string name;
    bool is_read = false;  ///< as a feature
    bool may_be_number = true, may_be_text = true, must_be_integer = false;
  };
  std::optional<std::string_view> line() const;
  nlohmann::json object_in(std::string_view line) const;
  std::string cells_of(const nlohmann::json& object) const;
  std::string cell_of(const Column& column, const nlohmann::json& value) const;
  void require_known(const nlohmann::json& object) const;
  std::string place() const;
  std::string remedy() const;

  TextAhead ahead_;
  const AdaptedTable& table_;
  bool reports_rows_;
  std::vector<Column> columns_;  ///< the training file's
  std::vector<std::string> wanted_;
  std::int64_t row_ = 0;  ///< the number of the next
};

}  // namespace mirrortrain::data
