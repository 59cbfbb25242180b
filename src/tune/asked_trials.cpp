#include "tune/asked_trials.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "report/json.h"
#include "train/checkpoint/run_folder.h"
#include "tune/study_rows.h"
#include "tune/trial_outcome.h"
#include "tune/trial_request.h"

namespace mirrortrain::tune {
namespace {

using Json = nlohmann::ordered_json;

/// Levels of lists and mappings in a line, which functions go through by calling themselves.
constexpr int kMostLevels = 64;

/// The object of a line; throws UsageError for anything else.
Json object_in(const std::string& line) {
  if (line.size() >= launch::LineInput::kMostBytes) throw UsageError("expected a line of less than 1 MiB");
  const auto refuse = [] { throw UsageError(fmt::format("expected at most {} levels of brackets", kMostLevels)); };
  Json json = parse_json_if_valid<Json>(line, {.most_levels = kMostLevels, .deeper = refuse});
  if (!json.is_object()) {
    throw UsageError(R"(expected a line of JSON, as {"parameters": {"optimizer.learning_rate": 0.01}})");
  }
  return json;
}

/// A line's `id` as JSON. Throws UsageError for one that could not be answered as it was asked: numbers are doubles
/// here but for integers of 64 bits.
std::string id_in(const Json& id) {
  if (id.is_number_float()) throw UsageError("id: expected a text or an integer of 64 bits, found another number");
  return json_text(id);
}

/// `id` first, as it was asked.
Json with_id(const std::string& id) {
  Json answer = Json::object();
  if (!id.empty()) answer["id"] = parse_json<Json>(id);
  return answer;
}

/// The epochs that a trial has, where a line may ask for a part of them.
std::optional<std::int64_t> most_epochs(const StudyPlan& plan) {
  const auto sets_epochs = [](const Parameter& parameter) {
    return parameter.key == "training" || parameter.key == "training.epochs";
  };
  if (std::ranges::any_of(plan.space.parameters(), sets_epochs)) return std::nullopt;
  return plan.checked.values().training.epochs;
}

}  // namespace

AskedTrials::AskedTrials(const StudyPlan& plan, const StudyFolder& folder, Journal& journal, int in, int out)
    : plan_(plan), folder_(folder), journal_(journal), in_(in), out_(out) {}

void AskedTrials::read() {
  for (const std::string& line : in_.take_lines()) take_line(line);
  if (in_.has_ended()) take_line(in_.take_unfinished());
}

void AskedTrials::take_line(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  std::string id;
  try {
    const Json json = object_in(line);
    if (json.contains("id")) id = id_in(json["id"]);
    const TrialRequest request = trial_request_from(json, plan_.space, most_epochs(plan_));
    const int trial = trial_at(request.point);
    require_not_fewer_epochs(trial, request.epochs);
    open_.push_back({trial, request.epochs, id});
  } catch (const UsageError& error) {
    Json answer = with_id(id);
    answer["error"] = error.what();
    out_.add(report::json_line(answer));
  }
}

/// The trial with these values; a new one if there is none.
int AskedTrials::trial_at(const Point& point) {
  const std::vector<Trial>& trials = journal_.trials();
  const auto found = std::ranges::find(trials, point, &Trial::point);
  if (found == trials.end()) {
    const std::size_t most = plan_.rounds.front().trials;
    if (trials.size() >= most) {
      throw UsageError(fmt::format("search.trials: the study has its {} trials; raise it, or end the input", most));
    }
    journal_.add_trial(point);
    return static_cast<int>(trials.size()) - 1;
  }
  return static_cast<int>(found - trials.begin());
}

/// A run cannot be taken back to an earlier epoch; what it had then is known if it was asked for then.
void AskedTrials::require_not_fewer_epochs(int trial, std::int64_t epochs) const {
  const Trial& known = journal_.trials()[static_cast<std::size_t>(trial)];
  if (known.result_of(epochs) != nullptr) return;
  std::int64_t most = 0;
  for (const TrialResult& result : known.results) most = std::max(most, result.epochs);
  for (const Trial::Fold& fold : known.folds) most = std::max(most, fold.result.epochs);
  for (const Open& line : open_) {
    if (line.trial == trial) most = std::max(most, line.epochs);
  }
  for (std::int64_t fold = 1; fold <= plan_.folds; ++fold) {
    most = std::max(most, begun_epochs(folder_.run(trial + 1, plan_.folds > 1 ? fold : 0)));
  }
  if (epochs >= most) return;
  throw UsageError(
      fmt::format("epochs: trial {} has these values, and {} epochs by now; expected as many or more, "
                  "found {}",
                  trial + 1, most, epochs));
}

std::optional<TrialRun> AskedTrials::take_next() {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Open& line = open_[i];
    // A trial has one run, or one for each fold: what is asked of it later waits, or has the same result.
    const auto is_of_trial = [&](const Open& other) { return other.trial == line.trial; };
    if (std::any_of(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(i), is_of_trial)) continue;
    if (line.started_runs == plan_.folds) continue;
    const std::int64_t fold = ++line.started_runs;
    return TrialRun{line.trial, line.epochs, plan_.folds > 1 ? fold : 0};
  }
  return std::nullopt;
}

void AskedTrials::answer() {
  add_answers();
  const int error = out_.write_available();
  if (error == 0) return;
  throw Error(
      fmt::format("cannot write an answer to stdout: {}; `mirrortrain tune` continues the study, and answers "
                  "what it knows from journal.jsonl",
                  ::strerror(error)));
}

void AskedTrials::add_answers() {
  std::erase_if(open_, [this](const Open& line) {
    const TrialResult* const result = journal_.trials()[static_cast<std::size_t>(line.trial)].result_of(line.epochs);
    if (result != nullptr) add_answer(line, *result);
    return result != nullptr;
  });
}

void AskedTrials::add_answer(const Open& line, const TrialResult& result) {
  const Point& point = journal_.trials()[static_cast<std::size_t>(line.trial)].point;
  Json answer = with_id(line.id);
  answer.update(trial_json(plan_.space, row_of(line.trial + 1, point, &result), folder_.path()));
  if (plan_.folds == 1 && result.is_done) {
    Json values = Json::array();
    for (const double value :
         epoch_values(RunFolder{folder_.trial(line.trial + 1)}.metrics(), plan_.search().objective(), line.epochs)) {
      values.push_back(value);  // JSON has null for what is not finite
    }
    answer["values"] = std::move(values);
  }
  out_.add(report::json_line(answer));
}

}  // namespace mirrortrain::tune
