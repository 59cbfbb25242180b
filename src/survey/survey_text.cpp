#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "survey/data_survey.h"

namespace mirrortrain::survey {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLines = 40;

std::string named(const char* what, const std::string& name) {
  return name.empty() ? what : fmt::format("{} '{}'", what, name);
}

void add_numbers(const std::vector<SurveyedNumber>& numbers, std::string& text) {
  std::size_t width = 0;
  for (const SurveyedNumber& one : numbers) width = std::max(width, std::min<std::size_t>(one.name.size(), 32));
  for (std::size_t i = 0; i < std::min(numbers.size(), kMostLines); ++i) {
    const auto& [name, moments] = numbers[i];
    text += fmt::format("    {:{}}  mean {}, standard deviation {}, from {} to {}\n", name, width,
                        number_text(moments.mean()), number_text(moments.deviation()), number_text(moments.least()),
                        number_text(moments.largest()));
  }
  if (numbers.size() > kMostLines) text += fmt::format("    and {} more\n", numbers.size() - kMostLines);
}

void add_split(const SurveyedSplit& split, std::string& text) {
  text += fmt::format("{}: {} examples{}\n", split.name, split.examples,
                      split.left_out > 0 ? fmt::format(", {} left out", split.left_out) : "");
  for (const SurveyedInput& input : split.inputs) {
    text += fmt::format("  {}: {} {}, {}\n", named("features", input.name), input.dtype, input.shape, input.origin);
    add_numbers(input.numbers, text);
  }
  for (const SurveyedOutput& output : split.outputs) {
    text += fmt::format("  {}: {} {}{}{}\n", named("labels", output.name), output.dtype, output.shape,
                        output.classes.empty() ? "" : fmt::format(", {} classes", output.classes.size()),
                        output.missing > 0 ? fmt::format(", {} missing", output.missing) : "");
    for (std::size_t i = 0; i < std::min(output.classes.size(), kMostLines); ++i) {
      const auto& [name, count] = output.classes[i];
      text += fmt::format("    {}: {} ({:.1f} %)\n", name, count,
                          100 * static_cast<double>(count) / static_cast<double>(split.examples));
    }
    if (output.classes.size() > kMostLines)
      text += fmt::format("    and {} more\n", output.classes.size() - kMostLines);
    add_numbers(output.numbers, text);
  }
  for (const auto& [column, count] : split.missing_cells) {
    text += fmt::format("  missing in {}: {} cells\n", column, count);
  }
  if (split.duplicates.count > 0) {
    text +=
        fmt::format("  {} examples have the features of an earlier one, as {} those of {}\n", split.duplicates.count,
                    split.duplicates.examples.front().second, split.duplicates.examples.front().first);
  }
  for (const std::string& remark : split.remarks) text += fmt::format("  note: {}\n", remark);
}

Json json_of(const std::vector<SurveyedNumber>& numbers) {
  Json json = Json::array();
  for (const auto& [name, moments] : numbers) {
    json.push_back({{"name", name},
                    {"mean", moments.mean()},
                    {"deviation", moments.deviation()},
                    {"min", moments.least()},
                    {"max", moments.largest()}});
  }
  return json;
}

Json counts_of(const std::vector<std::pair<std::string, std::int64_t>>& counts, const char* name) {
  Json json = Json::array();
  for (const auto& [key, count] : counts) json.push_back({{name, key}, {"count", count}});
  return json;
}

Json json_of(const Duplicates& found) {
  Json json = {{"count", found.count}, {"examples", Json::array()}};
  for (const auto& [first, second] : found.examples) json["examples"].push_back({first, second});
  return json;
}

}  // namespace

std::string survey_text(const DataSurvey& survey) {
  std::string text;
  for (const SurveyedSplit& split : survey.splits) add_split(split, text);
  for (const SharedExamples& one : survey.shared) {
    text += fmt::format("{} and {}: ", one.first, one.second);
    text += one.found.count == 0 ? "no example is in both\n"
                                 : fmt::format("{} examples of {} have the features of one of {}, as {} those of {}\n",
                                               one.found.count, one.second, one.first,
                                               one.found.examples.front().second, one.found.examples.front().first);
  }
  return text;
}

Json survey_json(const DataSurvey& survey) {
  Json json = {{"name", survey.configuration}, {"splits", Json::array()}, {"duplicates", Json::array()}};
  for (const SurveyedSplit& split : survey.splits) {
    Json one = {{"split", split.name},
                {"examples", split.examples},
                {"left_out", split.left_out},
                {"inputs", Json::array()},
                {"outputs", Json::array()}};
    for (const SurveyedInput& input : split.inputs) {
      one["inputs"].push_back({{"name", input.name.empty() ? "input" : input.name},
                               {"origin", input.origin},
                               {"dtype", input.dtype},
                               {"shape", parse_json_if_valid<Json>(input.shape)},
                               {"features", json_of(input.numbers)}});
    }
    for (const SurveyedOutput& output : split.outputs) {
      Json labels = {{"name", output.name.empty() ? "output" : output.name},
                     {"dtype", output.dtype},
                     {"shape", parse_json_if_valid<Json>(output.shape)},
                     {"missing", output.missing}};
      if (output.classes.empty()) {
        labels["numbers"] = json_of(output.numbers);
      } else {
        labels["classes"] = counts_of(output.classes, "class");
      }
      one["outputs"].push_back(std::move(labels));
    }
    one["missing_cells"] = counts_of(split.missing_cells, "column");
    one["duplicates"] = json_of(split.duplicates);
    one["remarks"] = split.remarks;
    json["splits"].push_back(std::move(one));
  }
  for (const SharedExamples& one : survey.shared) {
    Json shared = {{"first", one.first}, {"second", one.second}};
    shared.update(json_of(one.found));
    json["duplicates"].push_back(std::move(shared));
  }
  return json;
}

}  // namespace mirrortrain::survey
