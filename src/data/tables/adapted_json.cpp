// What a run keeps of its training data, as JSON.

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "data/tables/adapted.h"

namespace mirrortrain::data {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Crossing& crossing) {
  Json json = {
      {"crossing", crossing.name}, {"columns", Json::array()}, {"integers", Json::array()}, {"missing", Json::array()}};
  for (const Crossing::Part& part : crossing.parts) {
    json["columns"].push_back(part.column);
    if (part.is_integer) json["integers"].push_back(part.column);
    if (part.may_be_missing) json["missing"].push_back(part.column);
  }
  json["num_bins"] = crossing.bins;
  json["output_mode"] = config::name_of(crossing.output);
  return json;
}

void add_to(Json& json, const HashingEncoding& hashing) {
  json["num_bins"] = hashing.num_bins;
  if (hashing.mask_value) json["mask_value"] = *hashing.mask_value;
  if (hashing.salt) std::visit([&](const auto& salt) { json["salt"] = salt; }, *hashing.salt);
  json["output_mode"] = config::name_of(hashing.output_mode);
}

Json json_of(const AdaptedTable& table, const AdaptedColumn& column) {
  if (column.crossing) return json_of(*column.crossing);
  Json json = {{"column", column.column}};
  if (!table.header.empty()) json["name"] = table.header[static_cast<std::size_t>(column.column)];
  if (column.encoding) {
    json["encoding"] = std::visit([](const auto& encoding) { return encoding.kName; }, *column.encoding);
    if (const auto* hash = std::get_if<HashEncoding>(&*column.encoding)) {
      json["bins"] = hash->bins;
    } else if (const auto* hashing = std::get_if<HashingEncoding>(&*column.encoding)) {
      add_to(json, *hashing);
    } else {
      json["words"] = column.words;
      if (column.has_unknown()) json["unknown"] = "own_class";
    }
  }
  if (column.missing) json["missing"] = *column.missing;
  return json;
}

Json json_of(const AdaptedTable& table, const TableInput& input) {
  if (const auto* pictures = std::get_if<TableInput::Pictures>(&input.content)) {
    Json json = {{"as", "picture"}, {"column", pictures->column}};
    if (pictures->form.image_size) json["image_size"] = *pictures->form.image_size;
    json["color"] = config::name_of(pictures->form.color);
    return json;
  }
  if (const auto* texts = std::get_if<TableInput::Texts>(&input.content)) {
    return {{"as", "text"},
            {"column", texts->column},
            {"length", texts->length},
            {"vocabulary", texts->vocabulary},
            {"may_be_empty", texts->may_be_empty}};
  }
  const auto& numbers = std::get<TableInput::Numbers>(input.content);
  Json columns = Json::array();
  for (const std::size_t number : numbers.columns) {
    const AdaptedColumn& column = table.features[number];
    column.crossing ? columns.push_back(column.crossing->name) : columns.push_back(column.column);
  }
  return {{"columns", columns}, {"is_list", numbers.is_list}};
}

Json json_of(const AdaptedTable& table) {
  Json features = Json::array();
  for (const AdaptedColumn& column : table.features) features.push_back(json_of(table, column));
  Json json = {{"columns", table.columns}, {"header", table.header},   {"lists_features", table.lists_features},
               {"features", features},     {"labels", Json::object()}, {"weights", nullptr}};
  for (const TableInput& input : table.inputs) {
    if (!input.name.empty()) json["inputs"][input.name] = json_of(table, input);
  }
  for (const TableOutput& output : table.outputs) {
    (output.name.empty() ? json["labels"] : json["labels"][output.name]) = output.labels;
    if (output.weights) (output.name.empty() ? json["weights"] : json["weights"][output.name]) = *output.weights;
  }
  if (!table.missing_values.empty()) json["missing_values"] = table.missing_values;
  return json;
}

CellOutput output_of(const Json& json) {
  return config::value_named<CellOutput>(json.at("output_mode").get<std::string>()).value();
}

AdaptedColumn crossing_of(const Json& json) {
  Crossing crossing{json.at("crossing"), {}, json.at("num_bins"), output_of(json)};
  const auto lists = [&](std::string_view key, const Json& column) {
    return std::ranges::count(json.at(std::string(key)), column) > 0;
  };
  for (const Json& column : json.at("columns")) {
    crossing.parts.push_back({column, lists("integers", column), lists("missing", column)});
  }
  AdaptedColumn column;
  column.column = crossing.parts.at(0).column;
  column.crossing = std::move(crossing);
  return column;
}

HashingEncoding hashing_of(const Json& json) {
  HashingEncoding hashing{.num_bins = json.at("num_bins"), .output_mode = output_of(json)};
  if (json.contains("mask_value")) hashing.mask_value = json.at("mask_value").get<std::string>();
  if (!json.contains("salt")) return hashing;
  const Json& salt = json.at("salt");
  hashing.salt = salt.is_array() ? Salt(salt.get<std::array<std::int64_t, 2>>()) : Salt(salt.get<std::int64_t>());
  return hashing;
}

AdaptedColumn column_of(const Json& json) {
  if (json.contains("crossing")) return crossing_of(json);
  AdaptedColumn column;
  column.column = json.at("column").get<std::int64_t>();
  if (json.contains("encoding")) {
    const auto name = json.at("encoding").get<std::string>();
    const KnownWords words{.unknown = json.contains("unknown") ? UnknownWord::kOwnClass : UnknownWord::kError};
    if (name == OneHotEncoding::kName) {
      column.encoding = OneHotEncoding{words};
    } else if (name == IndexEncoding::kName) {
      column.encoding = IndexEncoding{words};
    } else if (name == HashingEncoding::kName) {
      column.encoding = hashing_of(json);
    } else {
      column.encoding = HashEncoding{json.at("bins").get<std::int64_t>()};
    }
    if (json.contains("words")) column.words = json.at("words").get<std::vector<std::string>>();
  }
  if (json.contains("missing")) column.missing = json.at("missing").get<double>();
  return column;
}

/// A size that is kept, as of a picture.
std::int64_t kept_size(const Json& json) {
  const auto size = json.get<std::int64_t>();
  if (size < 1) throw Error(fmt::format("a size of {}", size));
  return size;
}

TableInput input_of(const AdaptedTable& table, const std::string& name, const Json& json) {
  const auto as = json.value("as", std::string());
  if (as == "picture") {
    TableInput::Pictures pictures{json.at("column").get<std::int64_t>(), {}};
    if (json.contains("image_size")) {
      pictures.form.image_size = {kept_size(json.at("image_size").at(0)), kept_size(json.at("image_size").at(1))};
    }
    pictures.form.color = config::value_named<PictureColor>(json.at("color").get<std::string>()).value();
    return {name, pictures};
  }
  if (as == "text") {
    return {name, TableInput::Texts{json.at("column").get<std::int64_t>(), kept_size(json.at("length")),
                                    json.at("vocabulary").get<std::vector<std::string>>(), "of the run",
                                    json.at("may_be_empty").get<bool>()}};
  }
  TableInput::Numbers numbers{{}, json.at("is_list").get<bool>()};
  for (const Json& column : json.at("columns")) {
    const auto found = std::ranges::find_if(table.features, [&](const AdaptedColumn& one) {
      return one.crossing ? column == one.crossing->name : column == one.column;
    });
    if (found == table.features.end()) throw Error("a column of an input that is none of the features");
    numbers.columns.push_back(static_cast<std::size_t>(found - table.features.begin()));
  }
  if (numbers.columns.empty()) throw Error("an input without columns");
  return {name, std::move(numbers)};
}

/// A table whose inputs have no names has one, of all features.
TableInput only_input(const AdaptedTable& table) {
  TableInput::Numbers numbers;
  for (std::size_t i = 0; i < table.features.size(); ++i) numbers.columns.push_back(i);
  return {"", std::move(numbers)};
}

std::vector<TableOutput> outputs_of(const Json& labels, const Json& weights) {
  const auto weight = [](const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(json.get<std::int64_t>());
  };
  if (labels.is_array()) return {{"", labels.get<std::vector<std::int64_t>>(), weight(weights)}};
  std::vector<TableOutput> outputs;
  for (const auto& [name, columns] : labels.items()) {
    outputs.push_back({name, columns.get<std::vector<std::int64_t>>(),
                       weights.is_object() ? weight(weights.value(name, Json())) : std::nullopt});
  }
  return outputs;
}

void require_columns(const AdaptedTable& table) {
  const auto is_column = [&](std::int64_t number) { return number >= 0 && number < table.columns; };
  const auto has_bins = [](const AdaptedColumn& column) {
    if (column.crossing) return column.crossing->bins > 0;
    const auto* const hash = column.encoding ? std::get_if<HashEncoding>(&*column.encoding) : nullptr;
    const auto* const hashing = column.encoding ? std::get_if<HashingEncoding>(&*column.encoding) : nullptr;
    return (hash == nullptr || hash->bins > 0) && (hashing == nullptr || hashing->num_bins > 0);
  };
  const bool fits_header = table.header.empty() || static_cast<std::int64_t>(table.header.size()) == table.columns;
  const bool fits_outputs = std::ranges::all_of(table.outputs, [&](const TableOutput& output) {
    return std::ranges::all_of(output.labels, is_column) && (!output.weights || is_column(*output.weights));
  });
  if (!fits_header || !fits_outputs || !std::ranges::all_of(table.input_columns(), is_column) ||
      !std::ranges::all_of(table.features, has_bins)) {
    throw Error("a column that the table does not have");
  }
}

AdaptedTable table_of(const Json& json) {
  AdaptedTable table;
  table.columns = json.at("columns").get<std::int64_t>();
  table.header = json.at("header").get<std::vector<std::string>>();
  table.lists_features = json.at("lists_features").get<bool>();
  for (const Json& column : json.at("features")) table.features.push_back(column_of(column));
  table.missing_values = json.value("missing_values", std::vector<std::string>());
  if (json.contains("inputs")) {
    for (const auto& [name, input] : json.at("inputs").items()) table.inputs.push_back(input_of(table, name, input));
  } else {
    table.inputs.push_back(only_input(table));
  }
  table.outputs = outputs_of(json.at("labels"), json.at("weights"));
  require_columns(table);
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

/// The boundaries of a discretization.
std::vector<double> boundaries_of(const Json& json) {
  auto read = json.at("bin_boundaries").get<std::vector<double>>();
  if (!std::ranges::is_sorted(read)) throw Error("a discretization whose boundaries do not ascend");
  return read;
}

template <class Read>
void read_json(const std::filesystem::path& path, const Read& read) {
  if (!std::filesystem::exists(path)) return;
  try {
    read(parse_json<Json>(read_text_file(path)));
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: damaged: {}; restore the file, or train again", path.string(), error.what()));
  }
}

}  // namespace

Adapted Adapted::read(const std::filesystem::path& classes, const std::filesystem::path& preprocessing) {
  Adapted adapted;
  read_json(classes, [&](const Json& json) {
    if (json.is_array()) {
      adapted.classes[""] = json.get<std::vector<std::string>>();
    } else {
      adapted.classes = json.get<decltype(adapted.classes)>();
    }
  });
  read_json(preprocessing, [&](const Json& json) {
    if (json.contains("table")) adapted.table = table_of(json.at("table"));
    for (const Json& one : json.value("normalization", Json::array())) {
      adapted.steps.normalizations.push_back(normalization_of(one));
    }
    for (const Json& one : json.value("discretization", Json::array())) {
      adapted.steps.bin_boundaries.push_back(boundaries_of(one));
    }
  });
  return adapted;
}

void Adapted::write(const std::filesystem::path& classes_file, const std::filesystem::path& preprocessing) const {
  const bool is_of_one = classes.size() == 1 && classes.begin()->first.empty();
  const Json names = is_of_one ? Json(classes.begin()->second) : Json(classes);
  if (!classes.empty()) write_file(classes_file, json_text(names, 2) + "\n");
  Json json = Json::object();
  if (table) json["table"] = json_of(*table);
  if (!steps.normalizations.empty()) json["normalization"] = json_of(steps.normalizations);
  for (const std::vector<double>& one : steps.bin_boundaries) {
    json["discretization"].push_back({{"bin_boundaries", one}});
  }
  if (!json.empty()) write_file(preprocessing, json_text(json, 2) + "\n");
}

}  // namespace mirrortrain::data
