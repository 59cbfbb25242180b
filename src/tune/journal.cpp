#include "tune/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "report/event_lines.h"
#include "report/json.h"
#include "train/checkpoint/non_finite.h"

namespace mirrortrain::tune {
namespace {

using Json = nlohmann::ordered_json;

/// `fold`: 0 for the result of the whole trial.
Json json_of_result(int trial, std::int64_t fold, const TrialResult& result) {
  Json event = {{"event", fold > 0 ? "fold" : "result"}, {"trial", trial + 1}};
  if (fold > 0) event["fold"] = fold;
  if (result.epochs > 0) event["epochs"] = result.epochs;
  event["status"] = result.is_done ? "done" : "failed";
  if (result.is_done) {
    event["value"] = result.value;
    if (result.best_epoch > 0) event["best_epoch"] = result.best_epoch;
    if (!result.folds.empty()) event["folds"] = result.folds;
  } else {
    event["exit_code"] = result.exit_code;
    event["reason"] = result.reason;
  }
  return event;
}

TrialResult result_of(const Json& event) {
  TrialResult result;
  result.epochs = report::integer_in(event, "epochs");
  result.is_done = report::text_in(event, "status") == "done";
  result.value = report::number_in(event, "value").value_or(0);
  result.best_epoch = report::integer_in(event, "best_epoch");
  for (const Json& value : report::structure_in(event, "folds")) {
    if (value.is_number()) result.folds.push_back(value.get<double>());
  }
  result.exit_code = static_cast<int>(report::integer_in(event, "exit_code"));
  result.reason = report::text_in(event, "reason");
  return result;
}

/// The file's whole lines; what follows the last one is removed from it.
std::string whole_lines(const std::filesystem::path& path) {
  std::string text = read_text_file(path);
  const std::size_t end = text.rfind('\n') + 1;  // 0 where there is none
  if (end < text.size()) std::filesystem::resize_file(path, end);
  return text.substr(0, end);
}

}  // namespace

bool TrialResult::is_final() const {
  return is_done || exit_code == 0 || exit_code == UsageError::kExitCode || exit_code == NonFinite::kExitCode;
}

const TrialResult* Trial::result_of(std::int64_t epochs) const {
  const auto found = std::ranges::find(results, epochs, &TrialResult::epochs);
  return found == results.end() ? nullptr : &*found;
}

const TrialResult* Trial::fold_of(std::int64_t epochs, std::int64_t fold) const {
  const auto found =
      std::ranges::find_if(folds, [&](const Fold& one) { return one.fold == fold && one.result.epochs == epochs; });
  return found == folds.end() ? nullptr : &found->result;
}

Journal::Journal(const std::filesystem::path& path, const SearchSpace& space, const TrialShare& share,
                 const std::string& data)
    : space_(space), share_(share), data_(data) {
  const bool is_begun = std::filesystem::exists(path);
  if (is_begun) read(path);
  file_ = std::make_unique<OutputFile>(path, OutputFile::Mode::kAppend);
  if (!is_begun || std::filesystem::file_size(path) == 0) {
    write({{"event", "study"},
           {"machine", {{"cores", share.all_cores}, {"gpus", share.all_gpus}}},
           {"trial", {{"cores", share.cores}, {"gpus", share.gpus}}},
           {"data", data}});
    sync_folder(std::filesystem::absolute(path).parent_path());
  }
}

void Journal::read(const std::filesystem::path& path) {
  const std::string text = whole_lines(path);
  int line = 0;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    const std::string place = fmt::format("{}:{}", path.string(), ++line);
    const Json event = parse_json_if_valid<Json>(std::string_view(text).substr(at, end - at));
    if (!event.is_object()) {
      throw Error(fmt::format(
          "{}: this is no line of the trials and results of a study; remove it, or start a new study with another "
          "--run-dir",
          place));
    }
    if ((report::text_in(event, "event") == "study") != (line == 1)) {
      throw Error(
          fmt::format("{}: the line of the study, which says on what data it is, is expected first, and once; "
                      "start a new study with another --run-dir",
                      place));
    }
    take_event(event, place);
  }
  for (Trial& trial : trials_) {
    std::erase_if(trial.results, [](const TrialResult& result) { return !result.is_final(); });
    std::erase_if(trial.folds, [](const Trial::Fold& fold) { return !fold.result.is_final(); });
  }
}

void Journal::take_event(const Json& event, const std::string& place) {
  const std::string kind = report::text_in(event, "event");
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("{}: {}; start a new study with another --run-dir", place, what));
  };
  if (kind == "study") {
    const auto count_in = [&](const char* of, const char* what, std::int64_t least) {
      return static_cast<std::size_t>(std::max(least, report::integer_in(report::structure_in(event, of), what)));
    };
    share_ = {count_in("machine", "cores", 1), count_in("machine", "gpus", 0), count_in("trial", "cores", 1),
              count_in("trial", "gpus", 0)};
    data_ = report::text_in(event, "data");
    return;
  }
  const std::int64_t number = report::integer_in(event, "trial");
  if (kind == "trial") {
    if (number != std::ssize(trials_) + 1) {
      refuse(fmt::format("expected trial {}, found {}", trials_.size() + 1, number));
    }
    auto point = space_.from_json(report::structure_in(event, "parameters"));
    if (!point) refuse("its values are not those of the search's parameters");
    trials_.push_back({std::move(*point), {}});
  } else if (kind == "result" || kind == "fold") {
    if (number < 1 || number > std::ssize(trials_)) refuse(fmt::format("there is no trial {}", number));
    const std::string status = report::text_in(event, "status");
    if (status != "done" && status != "failed") refuse(fmt::format("expected done or failed, found '{}'", status));
    if (status == "done" && !std::isfinite(report::number_in(event, "value").value_or(NAN))) {
      refuse("a trial that is done has no value");
    }
    Trial& trial = trials_[static_cast<std::size_t>(number - 1)];
    if (kind == "result") {
      trial.results.push_back(tune::result_of(event));
    } else {
      trial.folds.push_back({report::integer_in(event, "fold"), tune::result_of(event)});
    }
  } else {
    refuse(fmt::format("expected a study, a trial or a result, found '{}'", kind));
  }
}

void Journal::write(const Json& event) {
  file_->write(report::json_line(event) + "\n");
  file_->sync();
}

void Journal::add_trial(const Point& point) {
  write({{"event", "trial"}, {"trial", trials_.size() + 1}, {"parameters", space_.to_json(point)}});
  trials_.push_back({point, {}});
}

void Journal::add_result(int trial, const TrialResult& result) {
  write(json_of_result(trial, 0, result));
  trials_[static_cast<std::size_t>(trial)].results.push_back(result);
}

void Journal::add_fold(int trial, std::int64_t fold, const TrialResult& result) {
  write(json_of_result(trial, fold, result));
  trials_[static_cast<std::size_t>(trial)].folds.push_back({fold, result});
}

}  // namespace mirrortrain::tune
