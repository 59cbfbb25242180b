#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "report/console.h"
#include "survey/data_survey.h"
#include "train/checkpoint/named_run.h"
#include "train/session/check_configuration.h"
#include "train/session/check_data.h"

namespace mirrortrain::cli {
namespace {

struct DataArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::optional<std::string> html, json;
};

void look_at_data_of(const DataArguments& arguments) {
  const CheckedConfiguration checked =
      check_configuration(configuration_or_run(arguments.config).file, arguments.overrides);
  for (const std::string& warning : checked.warnings) spdlog::warn(warning);
  require_data_files(checked, {data::Split::kTrain, data::Split::kValidation, data::Split::kTest});
  survey::DataSurvey found = survey::survey_data(checked, arguments.html.has_value());
  found.configuration = checked.values().name.text;
  if (arguments.html == "-") fmt::print("{}", survey::survey_page(found));
  if (arguments.html && *arguments.html != "-") write_result(*arguments.html, survey::survey_page(found));
  if (arguments.json) write_json(*arguments.json, json_text(survey::survey_json(found), 2));
  if (arguments.json != "-" && arguments.html != "-") report::print_fitted(stdout, survey::survey_text(found));
}

}  // namespace

void add_data(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "data",
      "Look at the data before training: examples, shapes, classes, ranges, missing cells, examples in two splits.");
  auto arguments = std::make_shared<DataArguments>();
  add_configuration(*command, arguments->config, arguments->overrides);
  add_output_file(*command, "--html", arguments->html, "Also write a page to this file, with the first pictures");
  add_json(*command, arguments->json, "Also write all of it as JSON to this file");
  command->callback([arguments, &exit_code] {
    look_at_data_of(*arguments);
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
