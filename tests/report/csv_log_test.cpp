#include "report/csv_log.h"

#include <doctest/doctest.h>

#include <limits>

#include "report/jsonl.h"
#include "temporary_folder.h"

using namespace mirrortrain;
using namespace mirrortrain::report;

namespace {

EpochEvent epoch_with(std::int64_t epoch, double loss) {
  return {.step = 10 * epoch,
          .epoch = epoch,
          .scores = Scores{loss, {{"accuracy", 0.5}}},
          .validation = Scores{loss / 2, {{"accuracy", 0.1}}}};
}

}  // namespace

TEST_CASE("epochs are lines with Keras's columns") {
  const TemporaryFolder folder;
  write_file(folder / "metrics.jsonl", "");
  CsvLog log(folder / "epochs.csv", folder / "metrics.jsonl", {"accuracy", "loss"}, true);
  log.write(StepEvent{.step = 1, .scores = Scores{9, {}}});
  log.write(epoch_with(1, 0.75));
  log.write(epoch_with(2, std::numeric_limits<double>::quiet_NaN()));
  CHECK(read_text_file(folder / "epochs.csv") ==
        "epoch,accuracy,loss,val_accuracy,val_loss\n1,0.5,0.75,0.1,0.375\n2,0.5,nan,0.1,nan\n");
}

TEST_CASE("a resumed run's file has the epochs that its events have, in the columns of now") {
  const TemporaryFolder folder;
  JsonlWriter events(folder / "metrics.jsonl");
  events.write(StepEvent{.step = 1, .scores = Scores{9, {}}});
  events.write(epoch_with(1, 0.75));
  write_file(folder / "epochs.csv", "what an earlier part wrote\n1,2\n2,3\n");
  CsvLog log(folder / "epochs.csv", folder / "metrics.jsonl", {"loss", "a \"b\", c"}, false);
  log.write(EpochEvent{.step = 20, .epoch = 2, .scores = Scores{0.25, {{"a \"b\", c", 1}}}});
  CHECK(read_text_file(folder / "epochs.csv") == "epoch,\"a \"\"b\"\", c\",loss\n1,,0.75\n2,1,0.25\n");
}
