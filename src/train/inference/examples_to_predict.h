#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/loading/load.h"
#include "data/loading/new_table.h"
#include "data/tables/adapted.h"
#include "train/inference/extra_columns.h"
#include "train/session/run.h"
#include "train/warnings/feature_scale.h"

namespace mirrortrain {

class RunCluster;

/// What a trained model is to predict.
struct ExamplesToPredict {
  std::vector<std::string> files;  ///< new data, as data::new_files gives them; none: a split of the run's own
  data::Split split = data::Split::kTest;
  WantedColumns columns{};
  std::function<bool()> stops{};        ///< asked while a pipe has nothing; may be empty
  const RunCluster* cluster = nullptr;  ///< whose workers predict them together, each reading all; may be null
  FeatureSizes features_of_training{};  ///< as kept by the run; empty if they are not known
};

/// Examples that are predicted block by block: tables of new data are read so, and others are one block. Every method
/// that reads throws Error and UsageError for data that are missing or do not fit, and data::ReadingStopped.
class ExampleBlocks {
 public:
  virtual ~ExampleBlocks() = default;

  /// The first that can be used; all others have their shapes.
  const data::Dataset& first();
  /// From the first block on; null at the end.
  std::optional<data::TableBlock> next();

  /// The columns that are written beside the predictions; blocks have their cells.
  const ExtraColumns& extra_columns() const { return extra_; }
  /// Warnings for the user that are due: of data that were read differently than they may be meant, or, at the end, of
  /// examples that were left out.
  virtual std::vector<std::string> take_warnings() { return {}; }
  /// Whether predictions of a block are wanted before the next is read.
  virtual bool flows() const { return false; }
  /// How much is read, of how much: rows, or bytes; of 0 where that is not known.
  struct Progress {
    std::int64_t read = 0, all = 0;
    bool of_bytes = false;
  };
  virtual Progress progress() const = 0;
  /// Rows that are computed together, of which blocks are best a multiple.
  virtual void set_batch(std::int64_t /*rows*/) {}

 protected:
  virtual std::optional<data::TableBlock> read() = 0;
  ExtraColumns extra_{};

 private:
  std::deque<data::TableBlock> begun_;
};

/// `adapted`: as kept by the run; null if there is nothing. Both must outlive the blocks. Warns of data that are not
/// like those of the training. `checkpoints`: the run's.
std::unique_ptr<ExampleBlocks> open_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked,
                                             const data::Adapted* adapted, const std::filesystem::path& checkpoints);

/// Like run_to_predict; but if the preprocessing transforms are not applicable to the examples, reports an error in the
/// examples.
Run run_on_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked, const data::Dataset& examples,
                    const data::Adapted& adapted);

}  // namespace mirrortrain
