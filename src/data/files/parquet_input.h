#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/input.h"

namespace mirrortrain::data {

/// Whether bytes begin as a Parquet file does. `beginning`: its first five bytes or more; fewer if it has no more.
bool is_parquet(std::string_view beginning);
/// The same of a file, which may also be encrypted, by its ends; false if it cannot be read.
bool is_parquet_file(const std::string& path);

/// A Parquet file as the lines of CSV that say the same: the first has the columns' names, texts are in quotes, and
/// nulls are empty cells. Row groups are read one after the other, and of them the wanted columns alone.
class ParquetInput : public Input {
 public:
  struct Column {
    std::string name;
    std::string why_no_cells;  ///< "is nested (list<...>)"; empty if it has cells
  };

  /// `wanted`: the names of columns whose cells are read; null: all. Throws Error for a file that is damaged, and where
  /// this program cannot read Parquet.
  ParquetInput(const std::string& path, const std::optional<std::set<std::string>>& wanted);
  ~ParquetInput() override;

  const std::vector<Column>& columns() const { return columns_; }
  /// About how many bytes the cells of all columns are as text, or as numbers of 8 bytes: what the file announces,
  /// which may be any number of times its size.
  double cell_bytes() const { return cell_bytes_; }

  std::size_t read(std::span<std::byte> to) override;
  bool is_compressed() const override { return true; }
  std::uint64_t most_bytes() const override;

 private:
  [[noreturn]] void fail(const std::string& reason) const;
  void read_header(const std::string& columns);

  std::vector<Column> columns_;
  double cell_bytes_ = 0;
  bool is_encrypted_;  ///< as a whole, or some of its columns
  std::vector<std::uint8_t> wanted_;
  void* parquet_ = nullptr;  ///< the module's
  std::string text_;
  std::size_t taken_ = 0;
};

}  // namespace mirrortrain::data
