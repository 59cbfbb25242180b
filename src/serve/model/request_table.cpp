#include "serve/model/request_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/csv_cell.h"
#include "base/error.h"
#include "base/utf8.h"
#include "data/loading/new_data.h"
#include "data/tables/csv_file.h"
#include "data/tables/csv_table.h"

namespace mirrortrain {
namespace {

/// A cell of the table: one number or text of each example of a tensor.
struct CellOf {
  const Tensor* tensor = nullptr;  ///< null: the column is not needed
  std::size_t place = 0, width = 1;
};

/// The shortest text that reads as the same number; an empty cell for one that is missing.
void append_number(const data::Array& array, std::size_t element, std::string& to) {
  data::with_element_type(array.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T number = array.span<T>()[element];
    if constexpr (std::is_integral_v<T>) {
      fmt::format_to(std::back_inserter(to), "{}", static_cast<std::int64_t>(number));
    } else if constexpr (std::is_floating_point_v<T>) {  // 0.1 of float32 is no 0.10000000149
      if (!std::isnan(number)) fmt::format_to(std::back_inserter(to), "{}", number);
    } else if (const auto wide = static_cast<float>(number); !std::isnan(wide)) {
      fmt::format_to(std::back_inserter(to), "{}", wide);
    }
  });
}

/// Where each column of the training file has its cells.
std::vector<CellOf> cells_of(const data::AdaptedTable& table, const std::vector<ServedInput>& inputs,
                             const std::vector<const Tensor*>& given) {
  std::vector<CellOf> cells(static_cast<std::size_t>(table.columns));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ServedInput& input = inputs[i];
    if (input.kind == ServedInput::Kind::kPictures) continue;
    const bool is_cell = input.kind == ServedInput::Kind::kCells;
    const std::size_t width = is_cell ? 1 : input.columns.size();
    const std::int64_t found = given[i]->is_text ? std::ssize(given[i]->texts) : given[i]->numbers.shape.elements();
    if (found != given[i]->rows() * static_cast<std::int64_t>(width)) {
      throw Refused(fmt::format("input '{}': expected {} of each example, found {}", input.name,
                                is_cell ? std::string("one text") : fmt::format("{} numbers", width),
                                found / given[i]->rows()));
    }
    for (std::size_t j = 0; j < width; ++j) {
      const std::int64_t column = is_cell ? input.column : input.column_numbers[j];
      cells[static_cast<std::size_t>(column)] = {given[i], j, width};
    }
  }
  return cells;
}

std::string text_of(const data::AdaptedTable& table, const std::vector<CellOf>& cells, std::int64_t first,
                    std::int64_t count) {
  std::string text;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    append_quoted_cell(table.header[i], text);
    text += i + 1 < table.header.size() ? ',' : '\n';
  }
  for (std::int64_t row = first; row < first + count; ++row) {
    const std::size_t begin = text.size();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const CellOf& cell = cells[i];
      if (cell.tensor != nullptr) {
        const std::size_t element = static_cast<std::size_t>(row) * cell.width + cell.place;
        if (cell.tensor->is_text) {
          if (cell.tensor->texts[element].find('\0') != std::string::npos) {
            throw Refused(fmt::format("input '{}', example {}: the text has a byte of 0, as none of the training has",
                                      shortened(table.header.empty() ? std::to_string(i) : table.header[i]), row));
          }
          append_quoted_cell(cell.tensor->texts[element], text);
        } else {
          append_number(cell.tensor->numbers, element, text);
        }
      }
      if (i + 1 < cells.size()) text += ',';
    }
    if (text.size() == begin) text += "\"\"";  // a line with nothing in it would be no row
    text += '\n';
  }
  return text;
}

/// The name of the input that has a column's cells.
std::string input_of(std::int64_t column, const std::vector<ServedInput>& inputs, const data::AdaptedTable& table) {
  for (const ServedInput& input : inputs) {
    if (input.kind == ServedInput::Kind::kCells && input.column == column) {
      return fmt::format("input '{}'", shortened(input.name));
    }
    const auto place = std::ranges::find(input.column_numbers, column);
    if (input.kind == ServedInput::Kind::kCells || place == input.column_numbers.end()) continue;
    return fmt::format("input '{}', number {} of each example ({})", shortened(input.name),
                       place - input.column_numbers.begin(), table.text_of(column));
  }
  return table.text_of(column);
}

/// What is wrong with a row of the table, "the request:2: row 0 (counting from 0), column 3 ('kind'): expected ...", in
/// terms of the request, which has no lines and cells. `first`: the number of the table's first example.
std::string in_terms_of_request(const std::string& text, const std::vector<ServedInput>& inputs,
                                const data::AdaptedTable& table, std::int64_t first) {
  static const std::regex of_cell(
      R"(^the request:\d+: row (\d{1,18}) \(counting from 0\), column (\d{1,18})( \('[^:]*'\))?: )");
  std::smatch found;
  if (!std::regex_search(text, found, of_cell)) return text;
  std::string what = found.suffix();
  for (const auto& [of_table, of_request] : {std::pair("found an empty cell", "found none (an empty text, or NaN)"),
                                             std::pair("; fill it in or remove the row: the model", "; the model")}) {
    const std::size_t at = what.find(of_table);
    if (at != what.npos) what.replace(at, std::string_view(of_table).size(), of_request);
  }
  return fmt::format("{}, example {}: {}", input_of(std::stoll(found[2]), inputs, table), first + std::stoll(found[1]),
                     what);
}

}  // namespace

RequestTable::RequestTable(const data::DataOptions& options, data::Adapted adapted)
    : adapted_(std::move(adapted)), source_(std::get<data::Csv>(data::new_source("request.csv", options))) {
  // A request has its pictures itself: it must not name files of this machine.
  std::erase_if(adapted_.table->inputs, [](const data::TableInput& input) {
    return std::holds_alternative<data::TableInput::Pictures>(input.content);
  });
  source_.delimiter = ",";
  source_.decimal = ".";
  source_.header = !adapted_.table->header.empty();
}

std::vector<data::Features> RequestTable::read(const std::vector<ServedInput>& inputs,
                                               const std::vector<const Tensor*>& given, std::int64_t first,
                                               std::int64_t count) const {
  const data::AdaptedTable& table = *adapted_.table;
  const std::string text = text_of(table, cells_of(table, inputs, given), first, count);
  try {
    data::CsvFile rows("the request", text, source_, &table.header);
    return data::encoded(data::read_rows(rows, source_, {.adapted = &adapted_, .wants_labels = false}), adapted_)
        .inputs;
  } catch (const Error& error) {
    throw Refused(in_terms_of_request(error.what(), inputs, table, first));
  }
}

}  // namespace mirrortrain
