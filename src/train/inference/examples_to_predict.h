#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/scratch_folder.h"
#include "data/dataset.h"
#include "data/loading/load.h"
#include "data/tables/adapted.h"
#include "train/session/run.h"

namespace mirrortrain {

/// What a trained model is to predict.
struct ExamplesToPredict {
  std::optional<std::string> data;  ///< new data; null: a split of the run's own
  data::Split split = data::Split::kTest;
};

/// `adapted`: as kept by the run; may be null. Throws Error and UsageError for data that are missing or do not fit.
data::Dataset read_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked,
                            const data::Adapted* adapted);

/// Reports examples that were left out, remarks on how data were read, and data that are not like those of the
/// training. `checkpoints`: the run's.
void warn_of_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked,
                      const data::Dataset& examples, const std::filesystem::path& checkpoints);

/// Like run_to_predict; but if the preprocessing transforms are not applicable to the examples, reports an error in the
/// examples.
Run run_on_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked, const data::Dataset& examples,
                    const data::Adapted& adapted);

/// New data from stdin, in a temporary file that this object removes.
class StandardInput {
 public:
  StandardInput();

  std::filesystem::path file() const { return folder_.path() / "stdin.csv"; }

 private:
  ScratchFolder folder_;
};

}  // namespace mirrortrain
