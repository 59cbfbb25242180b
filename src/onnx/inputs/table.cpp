#include "onnx/inputs/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace mirrortrain::onnx {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Why a column's cells cannot be encoded; empty if they can.
std::string mismatch(const data::AdaptedColumn& column) {
  if (column.crossing) return "its words are hashed together, for which ai.onnx and ai.onnx.ml have no operator";
  if (!column.encoding) return "";
  const bool known = std::holds_alternative<data::OneHotEncoding>(*column.encoding) ||
                     std::holds_alternative<data::IndexEncoding>(*column.encoding);
  if (known) return "";
  return fmt::format(
      "its words are encoded by {}, for which ai.onnx and ai.onnx.ml have no operator; encode it by "
      "one_hot or index",
      std::visit([](const auto& encoding) { return encoding.kName; }, *column.encoding));
}

bool is_one_hot(const data::AdaptedColumn& column) {
  return std::holds_alternative<data::OneHotEncoding>(*column.encoding);
}

}  // namespace

const std::string& TableColumns::word_input(const data::AdaptedColumn& column) {
  std::string& name = word_inputs_[column.column];
  if (name.empty()) {
    const auto number = static_cast<std::size_t>(column.column);
    const bool has_name = number < table_.header.size() && !table_.header[number].empty();
    name = builder_.unique(has_name ? table_.header[number] : fmt::format("column_{}", number));
    builder_.add_input({name, ElementType::kString, {"batch", std::int64_t{1}}});
  }
  return name;
}

/// [rows, features] of a column of words: NaN where a word is none of those that it may be.
std::string TableColumns::words_of(const data::AdaptedColumn& column) {
  Builder& b = builder_;
  std::vector<std::string> words = column.words;
  std::vector<float> numbers(words.size());
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const auto known = static_cast<float>(words.size());
  const bool may_be_missing = is_one_hot(column) && column.missing && !column.has_unknown();
  if (may_be_missing && !std::ranges::binary_search(words, std::string())) {
    words.emplace_back();  // an empty cell is no word: all features are 0
    numbers.push_back(-1);
  }
  if (words.empty()) {  // an encoder must have one
    words.emplace_back();
    numbers.push_back(column.has_unknown() ? known : kNan);
  }
  const std::string number = b.add(
      "LabelEncoder", {word_input(column)},
      {{"keys_strings", words}, {"values_floats", numbers}, {"default_float", column.has_unknown() ? known : kNan}},
      kMlDomain);
  if (!is_one_hot(column)) return number;
  std::vector<float> all(static_cast<std::size_t>(column.width()));
  std::iota(all.begin(), all.end(), 0.0f);
  const std::string ones =
      b.cast(b.add("Equal", {number, b.constant(floats({std::ssize(all)}, all))}), ElementType::kFloat);
  if (column.has_unknown()) return ones;
  return b.add("Where", {b.add("IsNaN", {number}), b.number(kNan), ones});
}

/// [rows, columns], empty cells (NaN) with what stands for them.
std::string TableColumns::numbers_of(const std::string& name, const std::vector<const data::AdaptedColumn*>& columns) {
  builder_.add_input({name, ElementType::kFloat, {"batch", std::ssize(columns)}});
  if (std::ranges::none_of(columns, [](const auto* column) { return column->missing.has_value(); })) return name;
  std::vector<float> missing;
  for (const data::AdaptedColumn* const column : columns) {
    missing.push_back(column->missing ? static_cast<float>(*column->missing) : kNan);
  }
  const std::string fill = builder_.constant(floats({std::ssize(missing)}, missing));
  return builder_.add("Where", {builder_.add("IsNaN", {name}), fill, name});
}

Prepared TableColumns::read(const std::string& name, const data::TableInput& input, std::vector<std::string>& refused) {
  const std::size_t before = refused.size();
  if (const auto* const texts = std::get_if<data::TableInput::Texts>(&input.content)) {
    refused.push_back(fmt::format("{}: it has texts, and ai.onnx has no operators that make tokens of them",
                                  table_.text_of(texts->column)));
    return {};
  }
  const std::vector<const data::AdaptedColumn*> columns = table_.columns_of(input);
  std::vector<const data::AdaptedColumn*> of_numbers;
  for (const data::AdaptedColumn* const column : columns) {
    if (const std::string why = mismatch(*column); !why.empty()) {
      refused.push_back(fmt::format("{}: {}", table_.text_of(*column), why));
    }
    if (!column->is_category()) of_numbers.push_back(column);
  }
  if (refused.size() > before) return {};
  const std::string numbers = of_numbers.empty() ? "" : numbers_of(name, of_numbers);
  if (of_numbers.size() == columns.size()) return {numbers, {std::ssize(columns)}};
  std::vector<std::string> parts;
  std::int64_t taken = 0, width = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    width += columns[i]->width();
    if (columns[i]->is_category()) {
      parts.push_back(words_of(*columns[i]));
      continue;
    }
    std::int64_t count = 1;
    while (i + 1 < columns.size() && !columns[i + 1]->is_category()) ++i, ++count, ++width;
    parts.push_back(builder_.slice(numbers, {taken}, {taken + count}, {1}));
    taken += count;
  }
  const std::string all = parts.size() == 1 ? parts[0] : builder_.add("Concat", parts, {{"axis", std::int64_t{1}}});
  return {all, {width}};
}

}  // namespace mirrortrain::onnx
