#include "data/first_look/feature_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "data/first_look/parts.h"

namespace mirrortrain::data {
namespace {

/// The encoding of a column of words; lists the words if some are so rare that the training part may lack one.
std::string encoding_text(const TableColumn& column, const std::string& key, const std::set<std::string>& marks,
                          OneHotEncoding& encoding) {
  constexpr std::int64_t kRare = 12;
  std::map<std::string, Occurrence> words = column.words;
  std::int64_t empty = column.empty;
  for (const std::string& mark : marks) {
    if (const auto found = words.find(mark); found != words.end()) {
      empty += found->second.count;
      words.erase(found);
    }
  }
  if (empty > 0) words[""].count += empty;
  // A number among words is a word with its original spelling, which is not stored here.
  const bool is_rare =
      std::ranges::any_of(words | std::views::values, [](const Occurrence& found) { return found.count < kRare; });
  if (column.numbers > 0) encoding.unknown = UnknownWord::kOwnClass;
  if (!is_rare || column.numbers > 0) {
    return fmt::format("{}: {}", key, column.numbers > 0 ? "{one_hot: {unknown: own_class}}" : "one_hot");
  }
  encoding.words.emplace();
  std::vector<std::string> listed;
  for (const auto& [word, found] : words) {
    encoding.words->push_back(word);
    listed.push_back(word.empty() ? "\"\"" : yaml_text(word));
  }
  return fmt::format("{}: {{one_hot: {{words: [{}]}}}}", key, fmt::join(listed, ", "));
}

/// Texts that represent missing numbers and must be listed.
std::set<std::string> marks_to_list(const std::vector<TableColumn>& columns) {
  std::set<std::string> marks;
  for (const TableColumn& column : columns) {
    if (!column.has_numbers()) continue;
    for (const auto& [mark, found] : column.marks) {
      if (!is_missing_mark(mark)) marks.insert(mark);
    }
  }
  return marks;
}

/// A column's name as far as inputs of the model may have it.
std::string as_input_name(const std::string& column) {
  std::string name;
  for (std::string_view rest = column; !rest.empty();) {
    const auto [code, bytes] = first_character(rest);
    const bool is_ascii = code < 0x80;
    const bool may_be = is_ascii
                            ? std::isalnum(static_cast<int>(code)) != 0 || code == '_' || code == '-' || code == '.'
                            : bytes > 0 && is_visible(code);
    const std::size_t length = std::max<std::size_t>(bytes, 1);
    name += may_be ? rest.substr(0, length) : "_";
    rest.remove_prefix(length);
  }
  if (name.empty()) return "column";
  const bool is_number =
      std::ranges::all_of(name, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  if (is_number) return "column_" + name;
  // Layers get names of their own: their type, and NAME_vector.
  static constexpr auto kLayers =
      std::to_array<std::string_view>({"concatenate", "conv1d", "conv2d", "dense", "embedding", "flatten",
                                       "global_average_pooling", "input", "max_pooling2d", "reshape"});
  const bool is_layer = std::ranges::any_of(kLayers, [&](std::string_view layer) { return name.starts_with(layer); });
  return is_layer || name.ends_with("_vector") ? name + "_column" : name;
}

}  // namespace

CsvColumn column_key(const TableColumn& column, std::size_t number, bool has_header) {
  if (has_header && column.has_unique_name) return column.name;
  return static_cast<std::int64_t>(number);
}

std::string text_of(const CsvColumn& column) {
  if (const auto* const name = std::get_if<std::string>(&column)) return yaml_text(*name);
  return std::to_string(std::get<std::int64_t>(column));
}

FeatureColumns::FeatureColumns(const std::vector<TableColumn>& columns, std::size_t label, bool has_header,
                               const std::filesystem::path& folder, Csv& csv)
    : columns_(columns), csv_(csv), marks_(marks_to_list(columns)) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i != label) add(i, has_header, folder);
  }
}

void FeatureColumns::add(std::size_t i, bool has_header, const std::filesystem::path& folder) {
  const TableColumn& column = columns_[i];
  const CsvColumn key = column_key(column, i, has_header);
  const ColumnLook look = look_at_column(column, columns_.size(), csv_, folder);
  if (look.kind == ColumnKind::kNone) {
    left_out_.push_back(fmt::format("{} is left out: {}", text_of(key), look.why));
    return;
  }
  // A cell that names no picture is no missing number.
  has_missing_ = has_missing_ || (look.kind != ColumnKind::kPictures &&
                                  (column.has_missing() || std::ranges::any_of(marks_, [&](const std::string& mark) {
                                     return column.words.contains(mark);
                                   })));
  if (look.kind != ColumnKind::kValues) return add_input(column, key, look);
  features_.push_back(key);
  listed_.push_back(text_of(key));
  if (column.has_numbers()) return;
  OneHotEncoding encoding;
  std::string text = encoding_text(column, text_of(key), marks_, encoding);
  add_encoding(key, encoding, std::move(text));
}

void FeatureColumns::add_input(const TableColumn& column, const CsvColumn& key, const ColumnLook& look) {
  Input input{unique_name(column.name), std::visit([](const auto& of) { return CsvInput(of); }, key), text_of(key)};
  ContentColumn content{key};
  proposed_.push_back(fmt::format("{}: {}", text_of(key), look.why));
  if (look.kind == ColumnKind::kPictures) {
    if (look.without_picture > 0) {
      lacks_pictures_ = true;
      proposed_.push_back(
          fmt::format("{}: rows without a picture, {}, are skipped", text_of(key), look.without_picture));
    }
    content.as = CellContent::kPicture;
    content.image_size = common_size(look.files);
    input.text = fmt::format("{{column: {}, as: picture, image_size: [{}, {}]}}", text_of(key),
                             (*content.image_size)[0], (*content.image_size)[1]);
    input.columns = content;
  } else if (look.kind == ColumnKind::kTexts) {
    content.as = CellContent::kText;
    content.length = text_length(column);
    input.text = fmt::format("{{column: {}, as: text, length: {}}}", text_of(key), *content.length);
    input.columns = content;
  } else {
    // As words even if they are numbers: ids of new rows, however large, are one more.
    IndexEncoding encoding;
    encoding.unknown = UnknownWord::kOwnClass;
    add_encoding(key, encoding, text_of(key) + ": {index: {unknown: own_class}}");
  }
  inputs_.push_back(std::move(input));
}

void FeatureColumns::add_encoding(const CsvColumn& key, Encoding encoding, std::string text) {
  const auto* const name = std::get_if<std::string>(&key);
  encodings_.push_back(std::move(text));
  csv_.encoding.entries.emplace_back(name != nullptr ? *name : std::to_string(std::get<std::int64_t>(key)),
                                     std::move(encoding));
}

std::string FeatureColumns::unique_name(const std::string& column) const {
  const std::string name = as_input_name(column);
  const auto is_taken = [&](const std::string& other) {
    return std::ranges::any_of(inputs_, [&](const Input& input) { return input.name == other; });
  };
  std::string unique = name;
  for (int number = 2; is_taken(unique); ++number) unique = fmt::format("{}_{}", name, number);
  return unique;
}

std::string FeatureColumns::columns_text() {
  if (inputs_.empty()) {
    if (left_out_.empty()) return "";
    csv_.features = features_;
    return fmt::format(", features: [{}]", fmt::join(listed_, ", "));
  }
  if (!features_.empty()) {
    inputs_.push_back({unique_name("features"), features_, fmt::format("[{}]", fmt::join(listed_, ", "))});
  }
  std::vector<std::string> texts;
  for (Input& input : inputs_) {
    texts.push_back(fmt::format("{}: {}", yaml_text(input.name), input.text));
    csv_.inputs.entries.emplace_back(input.name, config::Located<CsvInput>{std::move(input.columns), {}, ""});
  }
  return fmt::format(", inputs: {{{}}}", fmt::join(texts, ", "));
}

std::string FeatureColumns::text(std::vector<std::string>& remarks) {
  std::string text = columns_text();
  if (!encodings_.empty()) text += fmt::format(", encoding: {{{}}}", fmt::join(encodings_, ", "));
  if (csv_.decimal == ",") text += ", decimal: \",\"";
  if (has_missing_) {
    csv_.missing = missing_in(MissingIsMean{});
    text += ", missing: mean";
    remarks.push_back("missing numbers take the mean of their column");
  }
  if (!marks_.empty()) {
    csv_.missing_values.emplace(marks_.begin(), marks_.end());
    std::vector<std::string> texts;
    for (const std::string& mark : marks_) texts.push_back(yaml_text(mark));
    text += fmt::format(", missing_values: [{}]", fmt::join(texts, ", "));
  }
  return text;
}

}  // namespace mirrortrain::data
