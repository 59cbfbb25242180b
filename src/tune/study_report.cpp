#include "tune/study_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "config/document.h"
#include "report/page/study_page.h"
#include "train/checkpoint/run_folder.h"

namespace mirrortrain::tune {
namespace {

report::StudyPage::Axis axis_of(const Parameter& parameter, std::string name) {
  report::StudyPage::Axis axis{std::move(name), parameter.is_log, parameter.low, parameter.high, {}};
  for (const config::Value& value : parameter.values) axis.choices.push_back(config::flow_text(value));
  return axis;
}

report::StudyPage::Trial trial_of(const StudyPlan& plan, const StudyFolder& folder, const TrialRow& row) {
  report::StudyPage::Trial trial;
  trial.number = row.number;
  trial.status = name_of(row.status);
  trial.value = row.value;
  trial.deviation = row.deviation();
  trial.epoch = epoch_text(row);
  trial.at = row.point;
  for (std::size_t i = 0; i < row.point.size(); ++i) {
    trial.texts.push_back(row.point[i] ? cell_of(plan.space.parameters()[i], *row.point[i]) : "");
  }
  const std::string name = trial_folder_name(row.number);
  trial.link =
      std::filesystem::exists(RunFolder{folder.trial(row.number)}.report()) ? name + "/report.html" : name + "/";
  trial.reason = row.reason;
  return trial;
}

std::vector<std::pair<std::string, std::string>> facts_of(const StudyPlan& plan, std::span<const TrialRow> rows,
                                                          const TrialRow* best) {
  const auto count = [&](TrialStatus status) { return std::ranges::count(rows, status, &TrialRow::status); };
  std::vector<std::pair<std::string, std::string>> facts;
  if (best != nullptr) {
    const std::string objective = plan.search().objective().text();
    facts.emplace_back("best " + objective, fmt::format("{:.5g}", *best->value));
    if (const auto deviation = best->deviation()) {
      facts.emplace_back(fmt::format("standard deviation of {} folds", best->folds.size()),
                         fmt::format("{:.3g}", *deviation));
    }
    facts.emplace_back("best trial", fmt::to_string(best->number));
    const std::vector<std::string> names = short_names(plan.space);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (best->point[i]) facts.emplace_back(names[i], cell_of(plan.space.parameters()[i], *best->point[i]));
    }
  }
  facts.emplace_back("trials", fmt::to_string(rows.size()));
  for (const TrialStatus status : {TrialStatus::kPruned, TrialStatus::kFailed, TrialStatus::kUnfinished}) {
    if (count(status) > 0) facts.emplace_back(name_of(status), fmt::to_string(count(status)));
  }
  facts.emplace_back("sampler", config::name_of(plan.search().sampler));
  if (plan.rounds.size() > 1) {
    std::string rounds;
    for (const Round& round : plan.rounds) {
      rounds += fmt::format("{}{} x {} epochs", rounds.empty() ? "" : ", ", round.trials, round.epochs);
    }
    facts.emplace_back("rounds", rounds);
  }
  return facts;
}

}  // namespace

void write_study_report(const StudyPlan& plan, const StudyFolder& folder, std::span<const TrialRow> rows) {
  const WatchedMetric objective = plan.search().objective();
  const TrialRow* const best = best_row(rows, objective.less_is_better());
  report::StudyPage page;
  page.name = plan.checked.values().name.text + ": study";
  page.facts = facts_of(plan, rows, best);
  page.metric = objective.text();
  page.less_is_better = objective.less_is_better();
  page.best = best != nullptr ? best->number : 0;
  const std::vector<std::string> names = short_names(plan.space);
  for (std::size_t i = 0; i < names.size(); ++i) page.axes.push_back(axis_of(plan.space.parameters()[i], names[i]));
  for (const TrialRow& row : rows) page.trials.push_back(trial_of(plan, folder, row));
  page.configuration = config::show(plan.checked.values(), plan.checked.read.document);
  write_file(folder.report(), report::study_html(page));
}

}  // namespace mirrortrain::tune
