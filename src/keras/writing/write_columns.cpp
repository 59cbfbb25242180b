#include "keras/writing/write_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/utf8.h"
#include "keras/weight_paths.h"

namespace mirrortrain::keras {
namespace {

Json json_of(const data::Salt& salt) {
  return std::visit([](const auto& keys) { return Json(keys); }, salt);
}

const char* mode_of(data::CellOutput output) { return output == data::CellOutput::kOneHot ? "one_hot" : "int"; }

}  // namespace

bool changes_cells(const data::AdaptedTable& table) {
  return std::ranges::any_of(table.features,
                             [](const auto& column) { return column.is_category() || column.missing.has_value(); });
}

std::string why_not_encoded(const data::AdaptedColumn& column) {
  if (!column.encoding) return "";
  if (std::holds_alternative<data::HashEncoding>(*column.encoding)) {
    return "hash is nothing that Keras computes; encode it by hashing, one_hot or index";
  }
  return std::ranges::all_of(column.words, is_utf8) ? "" : "it has words that are not UTF-8, as Keras's files are";
}

WrittenTensor ColumnsWriter::add(const char* class_name, Json config, Json arguments, std::int64_t width) {
  if (!config.contains("dtype")) config["dtype"] = "float32";  // in whatever precision the layers compute
  return graph_.add(class_name, graph_.names().unique(snake_case(class_name)), std::move(config), std::move(arguments),
                    Shape{width});
}

WrittenTensor ColumnsWriter::apply(const char* operation, Json config, Json arguments) {
  return graph_.add_operation(operation, graph_.names().unique(snake_case(operation)), std::move(config),
                              std::move(arguments), Shape{1});
}

/// A column's input. One that is crossed as whole numbers and has another use, too, has two.
WrittenTensor ColumnsWriter::cells_of(std::int64_t column, const char* dtype) {
  const auto found = cells_.find({column, dtype});
  if (found != cells_.end()) return found->second;
  const auto number = static_cast<std::size_t>(column);
  const bool has_name = number < table_.header.size() && !table_.header[number].empty();
  const std::string wanted = has_name ? table_.header[number] : fmt::format("column_{}", column);
  const std::string name = graph_.names().unique(wanted);
  if (has_name && name != wanted) {
    remarks_.push_back(fmt::format("the input for {} is called '{}'", table_.text_of(column), name));
  }
  inputs_.push_back(graph_.add_input(name, {1}, dtype));
  return cells_[{column, dtype}] = inputs_.back();
}

WrittenTensor ColumnsWriter::numbers_of(const data::AdaptedColumn& column) {
  const WrittenTensor cells = cells_of(column.column, "float32");
  if (!column.missing) return cells;
  return apply("NanToNum", {{"nan", *column.missing}, {"posinf", nullptr}, {"neginf", nullptr}},
               Json::array({GraphWriter::tensor_json(cells)}));
}

// Keras numbers words from 0, or from 1 where 0 is that of words it does not know, or of empty cells. Here the unknown
// one is behind all others, and an empty cell has none: of -1 every number of one_hot is 0.
WrittenTensor ColumnsWriter::known_words_of(const data::AdaptedColumn& column) {
  const bool is_one_hot = std::holds_alternative<data::OneHotEncoding>(*column.encoding);
  const bool has_unknown = column.has_unknown();
  const bool may_be_missing =
      is_one_hot && column.missing && !has_unknown && !std::ranges::binary_search(column.words, std::string());
  std::string unknown = "[UNK]";
  while (std::ranges::count(column.words, unknown) > 0) unknown += "_";
  WrittenTensor number = add("StringLookup",
                             {{"max_tokens", nullptr},
                              {"num_oov_indices", has_unknown ? 1 : 0},
                              {"mask_token", may_be_missing ? Json("") : Json(nullptr)},
                              {"oov_token", unknown},
                              {"vocabulary", column.words.empty() ? Json::array({""}) : Json(column.words)},
                              {"output_mode", "int"},
                              {"dtype", "int64"}},
                             Json::array({GraphWriter::tensor_json(cells_of(column.column, "string"))}), 1);
  const auto words = std::max<std::int64_t>(std::ssize(column.words), 1);
  if (has_unknown || may_be_missing) {
    const std::int64_t added = has_unknown ? words : -1;
    number = apply("Add", Json::object(), Json::array({GraphWriter::tensor_json(number), added}));
  }
  if (has_unknown) {
    number = apply("Mod", Json::object(), Json::array({GraphWriter::tensor_json(number), words + 1}));
  }
  const Json arguments = Json::array({GraphWriter::tensor_json(number)});
  if (is_one_hot) {
    return add("CategoryEncoding", {{"num_tokens", column.width()}, {"output_mode", "one_hot"}}, arguments,
               column.width());
  }
  return add("Rescaling", {{"scale", 1.0}, {"offset", 0.0}}, arguments, 1);
}

WrittenTensor ColumnsWriter::hashed(const data::AdaptedColumn& column, const data::HashingEncoding& encoding) {
  const bool is_int = encoding.output_mode == data::CellOutput::kInt;
  const WrittenTensor bin =
      add("Hashing",
          {{"num_bins", encoding.num_bins},
           {"mask_value", encoding.mask_value ? Json(*encoding.mask_value) : Json(nullptr)},
           {"salt", encoding.salt ? json_of(*encoding.salt) : Json(nullptr)},
           {"output_mode", mode_of(encoding.output_mode)},
           {"dtype", is_int ? "int64" : "float32"}},
          Json::array({GraphWriter::tensor_json(cells_of(column.column, "string"))}), column.width());
  if (!is_int) return bin;
  return add("Rescaling", {{"scale", 1.0}, {"offset", 0.0}}, Json::array({GraphWriter::tensor_json(bin)}), 1);
}

WrittenTensor ColumnsWriter::crossed(const data::Crossing& crossing) {
  Json parts = Json::array();
  for (const data::Crossing::Part& part : crossing.parts) {
    parts.push_back(GraphWriter::tensor_json(cells_of(part.column, part.is_integer ? "int64" : "string")));
  }
  const bool is_int = crossing.output == data::CellOutput::kInt;
  const WrittenTensor bin = add(
      "HashedCrossing",
      {{"num_bins", crossing.bins}, {"output_mode", mode_of(crossing.output)}, {"dtype", is_int ? "int64" : "float32"}},
      Json::array({std::move(parts)}), is_int ? 1 : crossing.bins);
  if (!is_int) return bin;
  return add("Rescaling", {{"scale", 1.0}, {"offset", 0.0}}, Json::array({GraphWriter::tensor_json(bin)}), 1);
}

WrittenTensor ColumnsWriter::write(const data::TableInput& input, const Shape& shape) {
  Json parts = Json::array();
  WrittenTensor value;
  std::int64_t width = 0;
  for (const data::AdaptedColumn* const column : table_.columns_of(input)) {
    const auto* const hashing = column->encoding ? std::get_if<data::HashingEncoding>(&*column->encoding) : nullptr;
    value = column->crossing   ? crossed(*column->crossing)
            : hashing          ? hashed(*column, *hashing)
            : column->encoding ? known_words_of(*column)
                               : numbers_of(*column);
    parts.push_back(GraphWriter::tensor_json(value));
    width += column->width();
  }
  if (parts.size() > 1) value = add("Concatenate", {{"axis", -1}}, Json::array({std::move(parts)}), width);
  if (shape.rank() != 0) return value;
  return graph_.add("Reshape", graph_.names().unique("reshape"),
                    {{"target_shape", Json::array()}, {"dtype", "float32"}},
                    Json::array({GraphWriter::tensor_json(value)}), shape);
}

}  // namespace mirrortrain::keras
