#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/line_input.h"
#include "launch/queued_lines.h"
#include "tune/journal.h"
#include "tune/study_folder.h"
#include "tune/study_plan.h"
#include "tune/trial_runner.h"

namespace mirrortrain::tune {

/// The trials of a study whose values another program chooses (sampler: external): a line of JSON asks for each, and
/// gets one as its answer once the trial's result is known, in the order of the results. The same values again are the
/// same trial: what the journal knows is answered from it, and more epochs resume the trial's run.
class AskedTrials {
 public:
  /// All must outlive it. `in`: the program's lines; `out`: for the answers; both are descriptors. Must be
  /// created while there is one thread.
  AskedTrials(const StudyPlan& plan, const StudyFolder& folder, Journal& journal, int in, int out);

  /// Takes the lines that have come, and adds new trials to the journal; one that cannot be a trial is answered with
  /// the error at once.
  void read();
  /// The next run that has to be trained for a line; nullopt if none can be started now.
  std::optional<TrialRun> take_next();
  /// Answers the lines whose results are known, as far as the program takes the answers now. Throws Error if that
  /// cannot be written.
  void answer();
  /// Whether every line is answered, the answers are written, and no other line comes.
  bool is_over() const { return in_.has_ended() && open_.empty() && out_.is_empty(); }

 private:
  /// A line without an answer.
  struct Open {
    int trial = 0;  ///< from 0
    std::int64_t epochs = 0;
    std::string id;                 ///< its JSON; empty if it has none
    std::int64_t started_runs = 0;  ///< of its folds, or 1
  };
  void take_line(const std::string& line);
  int trial_at(const Point& point);
  void require_not_fewer_epochs(int trial, std::int64_t epochs) const;
  void add_answers();
  void add_answer(const Open& line, const TrialResult& result);

  const StudyPlan& plan_;
  const StudyFolder& folder_;
  Journal& journal_;
  launch::LineInput in_;
  launch::QueuedLines out_;
  std::vector<Open> open_;
};

}  // namespace mirrortrain::tune
