#pragma once

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "train/session/check_configuration.h"
#include "train/session/run.h"
#include "train/session/run_data.h"
#include "train/warnings/data_warnings.h"
#include "train/warnings/layer_warnings.h"

namespace mirrortrain {

/// What `config check` says of a configuration and its data: warnings, then errors.
inline std::string said_before_training(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TemporaryFolder folder;
  const auto file = folder / "m.yaml";
  std::ofstream(file) << text;
  config::Errors found;
  const CheckedConfiguration checked = look_at_configuration(file.string(), overrides, found);
  if (found.empty()) {
    Run run;
    load_feeders(checked, {.evaluates = {data::Split::kValidation, data::Split::kTest}}, run);
    warn_of_data(checked, run.splits(), found);
    warn_of_lone_rows(checked, fewest_batch_parts(checked.values().strategy), found);
  }
  std::string said;
  for (const std::string& warning : found.warnings()) said += "warning: " + warning + "\n";
  return said + (found.empty() ? "" : found.text());
}

/// "[a, b, ...]" of `count` texts: make(0), make(1), ...
template <class Make>
std::string flow_list(int count, const Make& make) {
  std::string list;
  for (int i = 0; i < count; ++i) list += fmt::format("{}{}", i == 0 ? "" : ", ", make(i));
  return "[" + list + "]";
}

}  // namespace mirrortrain
