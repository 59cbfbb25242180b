#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace mirrortrain::doctor {

/// One fact about the machine, the program or their surroundings.
struct Finding {
  std::string topic;    ///< "limits"
  std::string name;     ///< "open files"
  std::string value;    ///< "20,000"
  std::string problem;  ///< what is wrong with it; empty: nothing
  std::string remedy;   ///< what to do; without a problem it is advice
};

using Findings = std::vector<Finding>;

/// How many have a problem.
std::size_t number_wrong(const Findings& findings);

/// A paragraph for each topic, a line for each finding with its problem and remedy below it, and how many are wrong.
std::string findings_text(const Findings& findings);

/// {"wrong": 1, "findings": [{"topic", "name", "value", "problem", "remedy"}]}; the last two only where there are any.
nlohmann::ordered_json findings_json(const Findings& findings);

}  // namespace mirrortrain::doctor
