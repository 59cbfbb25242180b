#include "doctor/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace mirrortrain::doctor {

std::size_t number_wrong(const Findings& findings) {
  return static_cast<std::size_t>(
      std::ranges::count_if(findings, [](const Finding& finding) { return !finding.problem.empty(); }));
}

std::string findings_text(const Findings& findings) {
  std::size_t columns = 0;
  for (const Finding& finding : findings) columns = std::max(columns, display_width(finding.name));
  std::string text, topic;
  for (const Finding& finding : findings) {
    if (finding.topic != topic) text += fmt::format("{}{}\n", topic.empty() ? "" : "\n", finding.topic);
    topic = finding.topic;
    const std::string space(columns - display_width(finding.name), ' ');
    text += fmt::format("  {}{}  {}\n", finding.name, space, finding.value);
    if (!finding.problem.empty()) text += fmt::format("    wrong: {}\n", finding.problem);
    if (!finding.remedy.empty())
      text += fmt::format("    {}: {}\n", finding.problem.empty() ? "note" : "remedy", finding.remedy);
  }
  const std::size_t wrong = number_wrong(findings);
  return text + (wrong == 0   ? "\nnothing is wrong\n"
                 : wrong == 1 ? "\n1 thing is wrong\n"
                              : fmt::format("\n{} things are wrong\n", wrong));
}

nlohmann::ordered_json findings_json(const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json one = {{"topic", finding.topic}, {"name", finding.name}, {"value", finding.value}};
    if (!finding.problem.empty()) one["problem"] = finding.problem;
    if (!finding.remedy.empty()) one["remedy"] = finding.remedy;
    list.push_back(std::move(one));
  }
  return {{"wrong", number_wrong(findings)}, {"findings", std::move(list)}};
}

}  // namespace mirrortrain::doctor
