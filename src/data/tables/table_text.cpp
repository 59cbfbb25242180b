#include "data/tables/table_text.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "data/files/input.h"
#include "data/files/parquet_input.h"

namespace mirrortrain::data {
namespace {

/// All bytes of what `open` gives, which is read twice: its size is known at its end alone.
Bytes whole_of(const std::function<std::unique_ptr<Input>()>& open, const std::string& path) {
  std::vector<std::byte> block(std::size_t{1} << 20);
  const auto counted = open();
  std::size_t size = 0;
  while (const std::size_t count = counted->read(block)) size += count;
  Bytes bytes(size, path);
  const auto input = open();
  input->read_all({bytes.data(), size}, "the table");
  input->require_end();
  return bytes;
}

}  // namespace

TableForm form_of(const std::string& path) {
  if (!is_parquet_file(path)) return {};
  TableForm form{false};
  const ParquetInput input(path, std::set<std::string>{});
  for (const ParquetInput::Column& column : input.columns()) form.why_no_cells.push_back(column.why_no_cells);
  return form;
}

TableText read_table_text(const std::string& path, const std::optional<std::set<std::string>>& wanted) {
  if (is_parquet_file(path)) {
    return {whole_of([&] { return std::make_unique<ParquetInput>(path, wanted); }, path), form_of(path)};
  }
  if (!open_input(path)->is_compressed()) return {PlainFile(path).read_whole()};
  return {whole_of([&] { return open_input(path); }, path)};
}

Csv options_of_made_lines(const Csv& options) {
  Csv made = options;
  made.header = true;
  made.delimiter = ",";
  made.decimal = ".";
  return made;
}

}  // namespace mirrortrain::data
