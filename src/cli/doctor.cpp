#include "doctor/doctor.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "report/console.h"

namespace mirrortrain::cli {

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Look for what is wrong with this machine: versions, libraries, processor, GPUs, limits, folders, cluster "
      "variables. The exit code is 1 where something is wrong; reports of bugs should have what it prints.");
  auto json = std::make_shared<std::optional<std::string>>();
  add_json(*command, *json, "Also write it as JSON to this file");
  command->callback([json, &exit_code] {
    const doctor::Findings findings = doctor::examine(doctor::surroundings_of_process());
    if (*json) write_json(**json, json_text(doctor::findings_json(findings), 2));
    if (*json != "-") report::print_fitted(stdout, doctor::findings_text(findings));
    exit_code = doctor::number_wrong(findings) == 0 ? 0 : 1;
  });
}

}  // namespace mirrortrain::cli
