#include "tune/journal.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "error_text.h"
#include "temporary_folder.h"
#include "tune/fold_results.h"
#include "tune/halving.h"
#include "tune/space_from_text.h"
#include "tune/study_rows.h"

namespace mirrortrain::tune {
namespace {

TEST_CASE("a journal that was cut anywhere has its whole lines, and goes on after them") {
  const SearchSpace space = space_from_text("real.a: {min: 0, max: 1}\n");
  TemporaryFolder folder;
  const std::filesystem::path file = folder / "journal.jsonl";
  {
    Journal journal(file, space, {4, 0, 2, 0});
    journal.add_trial({0.25});
    journal.add_trial({0.5});
    journal.add_result(0, {3, true, 0.125, 2, 0, ""});
    journal.add_result(0, {9, true, 0.5, 0, 0, "", {0.25, 0.75}});
    journal.add_fold(1, 2, {3, true, 0.75, 1, 0, ""});
    journal.add_result(1, {3, false, 0, 0, 3, "the loss is \"NaN\""});
  }
  const std::string whole = read_text_file(file);
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    write_file(file, whole.substr(0, bytes));
    const auto lines = std::count(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes), '\n');
    Journal journal(file, space, {4, 0, 2, 0});
    CAPTURE(bytes);
    CHECK(std::ssize(journal.trials()) == std::clamp<std::ptrdiff_t>(lines - 1, 0, 2));
    if (lines == 4) CHECK(journal.trials()[0].result_of(3)->value == 0.125);
  }
  Journal journal(file, space, {1, 1, 1, 1});
  CHECK(journal.share().cores == 2);  // as the study began
  CHECK(journal.share().all_cores == 4);
  CHECK(journal.trials()[1].has_failed());
  CHECK(journal.trials()[1].results[0].reason == "the loss is \"NaN\"");
  CHECK(journal.trials()[1].results[0].exit_code == 3);
  CHECK(journal.trials()[0].result_of(9)->folds == std::vector<double>{0.25, 0.75});
  CHECK(journal.trials()[0].result_of(27) == nullptr);
  CHECK(journal.trials()[1].fold_of(3, 2)->value == 0.75);
  CHECK(journal.trials()[1].fold_of(3, 1) == nullptr);
  CHECK(read_text_file(file) == whole);
}

TEST_CASE("a journal of other parameters, or with a foreign line, is refused with its place") {
  TemporaryFolder folder;
  const std::filesystem::path file = folder / "journal.jsonl";
  const SearchSpace space = space_from_text("real.a: {values: [1, 2]}\n");
  Journal(file, space, {}).add_trial({0.0});
  const SearchSpace other = space_from_text("real.a: {values: [3, 4]}\n");
  CHECK(error_text([&] { Journal(file, other, {}); }).find("journal.jsonl:2: its values are not those") !=
        std::string::npos);
  const std::string whole = read_text_file(file);
  write_file(file, whole.substr(whole.find('\n') + 1));
  CHECK(contains(error_text([&] { Journal(file, space, {}); }), "journal.jsonl:1: the line of the study"));
  const auto with = [&](const std::string& line) {
    write_file(file, whole + line + "\n");
    return error_text([&] { Journal(file, space, {}); });
  };
  CHECK(contains(with(R"({"event": "result", "trial": 1, "status": "dune"})"), "jsonl:3: expected done or failed"));
  CHECK(contains(with(R"({"event": "result", "trial": 1, "status": "done", "value": null})"), "has no value"));
  write_file(file, "notes\n");
  CHECK(error_text([&] { Journal(file, space, {}); }).find("journal.jsonl:1: this is no line") != std::string::npos);
}

TEST_CASE("what failed for another reason than its values is trained again when a study is continued") {
  const TemporaryFolder folder;
  const SearchSpace space = space_from_text("real.a: {min: 0, max: 1}\n");
  const std::filesystem::path file = folder / "journal.jsonl";
  {
    Journal journal(file, space, {});
    for (const int exit_code : {1, 2, 3, 137, 0}) {
      journal.add_trial({0.5});
      journal.add_result(static_cast<int>(journal.trials().size()) - 1, {0, false, 0, 0, exit_code, "it failed"});
    }
    journal.add_fold(0, 2, {0, false, 0, 0, 1, "the disk is full"});
    CHECK(journal.trials()[0].has_failed());
  }
  const auto knows = [&](int trial) { return Journal(file, space, {}).trials()[static_cast<std::size_t>(trial)]; };
  CHECK(knows(0).results.empty());
  CHECK(knows(0).folds.empty());
  CHECK(knows(1).has_failed());
  CHECK(knows(2).has_failed());
  CHECK(knows(3).results.empty());
  CHECK(knows(4).has_failed());
  Journal(file, space, {}).add_result(0, {0, true, 0.25, 1, 0, ""});
  CHECK(knows(0).result_of(0)->value == 0.25);
}

TEST_CASE("rounds of successive halving end with all epochs, and take the best, the earlier of equal ones") {
  const auto text = [](const SearchPruner& pruner, std::size_t trials, std::int64_t epochs) {
    std::string rounds;
    for (const Round& round : rounds_of(pruner, trials, epochs)) {
      rounds += std::to_string(round.trials) + "x" + std::to_string(round.epochs) + " ";
    }
    return rounds;
  };
  CHECK(text(NoPruner{}, 40, 9) == "40x0 ");
  CHECK(text(SuccessiveHalving{}, 40, 9) == "40x1 13x3 4x9 ");
  CHECK(text(SuccessiveHalving{}, 4, 30) == "4x1 1x3 1x10 1x30 ");
  CHECK(text(SuccessiveHalving{4, 2}, 64, 40) == "64x2 16x10 4x40 ");
  CHECK(text(SuccessiveHalving{3, 5}, 6, 4) == "6x4 ");
  const std::vector<Ranked> ranked = {{0, 2}, {1, 1}, {2, 1}, {3, 1}, {4, 5}};
  CHECK(best_trials(ranked, 2) == std::vector<int>{1, 2});
  CHECK(best_trials(ranked, 4) == std::vector<int>{0, 1, 2, 3});
  CHECK(best_trials(ranked, 9).size() == 5);
}

TEST_CASE("the best trial is the best of those that were trained furthest, and none that failed") {
  std::vector<Trial> trials(4);
  for (Trial& trial : trials) trial.point = {0.0};
  trials[0].results = {{1, true, 0.9, 1, 0, ""}};
  trials[1].results = {{1, true, 0.5, 1, 0, ""}, {3, true, 0.6, 2, 0, ""}};
  trials[2].results = {{1, true, 0.6, 1, 0, ""}, {3, true, 0.6, 3, 0, ""}};
  trials[3].results = {{1, true, 0.8, 1, 0, ""}, {3, false, 0, 0, 1, "the disk is full"}};
  const std::vector<TrialRow> rows = rows_of(trials, std::vector<Round>{{1, 4}, {3, 3}});
  CHECK(rows[0].status == TrialStatus::kPruned);
  CHECK(rows[1].status == TrialStatus::kDone);
  CHECK(rows[3].status == TrialStatus::kFailed);
  CHECK(best_row(rows, false)->number == 2);
  CHECK(best_row(std::vector<TrialRow>{rows[3]}, false) == nullptr);
}

TEST_CASE("a trial's value is the mean of its folds, and it has failed if one has") {
  const TrialResult low{3, true, 0.25, 2, 0, ""}, high{3, true, 0.75, 3, 0, ""}, failed{3, false, 0, 0, 1, "no disk"};
  const TrialResult mean = result_of_folds({&low, &high});
  CHECK(mean.is_done);
  CHECK(mean.value == 0.5);
  CHECK(mean.epochs == 3);
  CHECK(mean.best_epoch == 0);
  CHECK(mean.folds == std::vector<double>{0.25, 0.75});
  const TrialResult none = result_of_folds({&low, nullptr, &failed});
  CHECK_FALSE(none.is_done);
  CHECK(none.reason == "fold 3: no disk");
}

TEST_CASE("parameters are called by the ends of their keys, as long as they differ") {
  const SearchSpace space = space_from_text(
      "real.a: {min: 0, max: 1}\nwhole.a: {min: 0, max: 1}\nreal.b: {min: 0, max: 1}\nany: {values: [1]}\n");
  CHECK(short_names(space) == std::vector<std::string>{"real.a", "whole.a", "b", "any"});
}

}  // namespace
}  // namespace mirrortrain::tune
