#include "data/tables/adapted.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"

namespace mirrortrain::data {

std::int64_t AdaptedColumn::width() const {
  if (crossing) return crossing->output == CellOutput::kOneHot ? crossing->bins : 1;
  if (!encoding) return 1;
  if (std::holds_alternative<OneHotEncoding>(*encoding)) return std::ssize(words) + (has_unknown() ? 1 : 0);
  const auto* const hashing = std::get_if<HashingEncoding>(&*encoding);
  return hashing != nullptr && hashing->output_mode == CellOutput::kOneHot ? hashing->num_bins : 1;
}

bool AdaptedColumn::has_unknown() const {
  const KnownWords* const known = encoding ? known_words(*encoding) : nullptr;
  return known != nullptr && known->unknown == UnknownWord::kOwnClass;
}

std::string AdaptedTable::text_of(std::int64_t column) const {
  if (header.empty()) return fmt::format("column {}", column);
  return fmt::format("column {} ('{}')", column, shortened(header[static_cast<std::size_t>(column)]));
}

std::string AdaptedTable::text_of(const AdaptedColumn& column) const {
  return column.crossing ? fmt::format("the crossing '{}'", shortened(column.crossing->name)) : text_of(column.column);
}

std::vector<std::int64_t> AdaptedTable::input_columns() const {
  std::vector<std::int64_t> all;
  std::set<std::int64_t> known;
  const auto add = [&](std::int64_t column) {
    if (known.insert(column).second) all.push_back(column);
  };
  for (const AdaptedColumn& feature : features) {
    if (!feature.crossing) {
      add(feature.column);
      continue;
    }
    for (const Crossing::Part& part : feature.crossing->parts) add(part.column);
  }
  for (const TableInput& input : inputs) {
    if (const auto* pictures = std::get_if<TableInput::Pictures>(&input.content)) add(pictures->column);
    if (const auto* texts = std::get_if<TableInput::Texts>(&input.content)) add(texts->column);
  }
  return all;
}

std::vector<const AdaptedColumn*> AdaptedTable::columns_of(const TableInput& input) const {
  std::vector<const AdaptedColumn*> own;
  if (const auto* numbers = std::get_if<TableInput::Numbers>(&input.content)) {
    for (const std::size_t column : numbers->columns) own.push_back(&features[column]);
  }
  return own;
}

namespace {

template <class Field>
const Field* find_field(const std::vector<Field>& fields, const std::string& name) {
  if (fields.size() == 1 && fields.front().name.empty()) return &fields.front();
  const auto found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace

const TableInput* AdaptedTable::find_input(const std::string& name) const { return find_field(inputs, name); }
const TableOutput* AdaptedTable::find_output(const std::string& name) const { return find_field(outputs, name); }

const std::vector<std::string>& Adapted::classes_of(std::string_view output) const {
  static const std::vector<std::string> none;
  const auto found = classes.find(output), only = classes.find("");
  return found != classes.end() ? found->second : only != classes.end() ? only->second : none;
}

}  // namespace mirrortrain::data
