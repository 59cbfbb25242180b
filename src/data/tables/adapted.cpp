#include "data/tables/adapted.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"

namespace mirrortrain::data {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const AdaptedTable& table, const AdaptedColumn& column) {
  Json json = {{"column", column.column}};
  if (!table.header.empty()) json["name"] = table.header[static_cast<std::size_t>(column.column)];
  if (column.encoding) {
    json["encoding"] = std::visit([](const auto& encoding) { return encoding.kName; }, *column.encoding);
    if (const auto* hash = std::get_if<HashEncoding>(&*column.encoding)) {
      json["bins"] = hash->bins;
    } else {
      json["words"] = column.words;
      if (column.has_unknown()) json["unknown"] = "own_class";
    }
  }
  if (column.missing) json["missing"] = *column.missing;
  return json;
}

Json json_of(const AdaptedTable& table) {
  Json features = Json::array();
  for (const AdaptedColumn& column : table.features) features.push_back(json_of(table, column));
  Json json = {{"columns", table.columns},        {"header", table.header}, {"lists_features", table.lists_features},
               {"features", std::move(features)}, {"labels", table.labels}, {"weights", nullptr}};
  if (table.weights) json["weights"] = *table.weights;
  if (!table.missing_values.empty()) json["missing_values"] = table.missing_values;
  return json;
}

AdaptedColumn column_of(const Json& json) {
  AdaptedColumn column;
  column.column = json.at("column").get<std::int64_t>();
  if (json.contains("encoding")) {
    const auto name = json.at("encoding").get<std::string>();
    const KnownWords words{.unknown = json.contains("unknown") ? UnknownWord::kOwnClass : UnknownWord::kError};
    if (name == OneHotEncoding::kName) {
      column.encoding = OneHotEncoding{words};
    } else if (name == IndexEncoding::kName) {
      column.encoding = IndexEncoding{words};
    } else {
      column.encoding = HashEncoding{json.at("bins").get<std::int64_t>()};
    }
    if (json.contains("words")) column.words = json.at("words").get<std::vector<std::string>>();
  }
  if (json.contains("missing")) column.missing = json.at("missing").get<double>();
  return column;
}

AdaptedTable table_of(const Json& json) {
  AdaptedTable table;
  table.columns = json.at("columns").get<std::int64_t>();
  table.header = json.at("header").get<std::vector<std::string>>();
  table.lists_features = json.at("lists_features").get<bool>();
  for (const Json& column : json.at("features")) table.features.push_back(column_of(column));
  table.missing_values = json.value("missing_values", std::vector<std::string>());
  table.labels = json.at("labels").get<std::vector<std::int64_t>>();
  if (!json.at("weights").is_null()) table.weights = json.at("weights").get<std::int64_t>();
  const auto is_column = [&](std::int64_t number) { return number >= 0 && number < table.columns; };
  for (const AdaptedColumn& column : table.features) {
    const bool has_bins = !column.encoding || !std::holds_alternative<HashEncoding>(*column.encoding) ||
                          std::get<HashEncoding>(*column.encoding).bins > 0;
    if (!is_column(column.column) || !has_bins) throw Error("a column that the table does not have");
  }
  const bool fits_header = table.header.empty() || static_cast<std::int64_t>(table.header.size()) == table.columns;
  if (!fits_header || !std::all_of(table.labels.begin(), table.labels.end(), is_column) ||
      (table.weights && !is_column(*table.weights))) {
    throw Error("a column that the table does not have");
  }
  return table;
}

Json json_of(const std::vector<AdaptedNormalization>& normalizations) {
  Json all = Json::array();
  for (const auto& [mean, variance] : normalizations) all.push_back({{"mean", mean}, {"variance", variance}});
  return all;
}

AdaptedNormalization normalization_of(const Json& json) {
  AdaptedNormalization read{json.at("mean").get<std::vector<double>>(), json.at("variance").get<std::vector<double>>()};
  const bool is_whole = !read.mean.empty() && read.mean.size() == read.variance.size();
  if (!is_whole || std::ranges::any_of(read.variance, [](double one) { return one < 0; })) {
    throw Error("a normalization without a mean and a variance for each channel");
  }
  return read;
}

template <class Read>
void read_json(const std::filesystem::path& path, const Read& read) {
  if (!std::filesystem::exists(path)) return;
  try {
    read(Json::parse(read_text_file(path)));
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: damaged: {}; restore the file, or train again", path.string(), error.what()));
  }
}

}  // namespace

std::int64_t AdaptedColumn::width() const {
  const bool is_one_hot = encoding && std::holds_alternative<OneHotEncoding>(*encoding);
  return is_one_hot ? static_cast<std::int64_t>(words.size()) + (has_unknown() ? 1 : 0) : 1;
}

bool AdaptedColumn::has_unknown() const {
  const KnownWords* const known = encoding ? known_words(*encoding) : nullptr;
  return known != nullptr && known->unknown == UnknownWord::kOwnClass;
}

std::string AdaptedTable::text_of(std::int64_t column) const {
  if (header.empty()) return fmt::format("column {}", column);
  return fmt::format("column {} ('{}')", column, shortened(header[static_cast<std::size_t>(column)]));
}

std::int64_t AdaptedTable::width() const {
  return std::transform_reduce(features.begin(), features.end(), std::int64_t{0}, std::plus{},
                               [](const AdaptedColumn& column) { return column.width(); });
}

Adapted Adapted::read(const std::filesystem::path& classes, const std::filesystem::path& preprocessing) {
  Adapted adapted;
  read_json(classes, [&](const Json& json) { adapted.classes = json.get<std::vector<std::string>>(); });
  read_json(preprocessing, [&](const Json& json) {
    if (json.contains("table")) adapted.table = table_of(json.at("table"));
    if (!json.contains("normalization")) return;
    for (const Json& one : json.at("normalization")) adapted.normalizations.push_back(normalization_of(one));
  });
  return adapted;
}

void Adapted::write(const std::filesystem::path& classes_file, const std::filesystem::path& preprocessing) const {
  if (!classes.empty()) write_file(classes_file, Json(classes).dump(2) + "\n");
  Json json = Json::object();
  if (table) json["table"] = json_of(*table);
  if (!normalizations.empty()) json["normalization"] = json_of(normalizations);
  if (!json.empty()) write_file(preprocessing, json.dump(2) + "\n");
}

}  // namespace mirrortrain::data
