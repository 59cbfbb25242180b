#include "cli/batch_progress.h"

#include <cstdio>
#include <utility>

#include "train/checkpoint/run_folder.h"

namespace mirrortrain::cli {

BatchProgress::BatchProgress(std::string what, bool shown) : what_(std::move(what)) {
  if (!shown || is_quiet() || !report::is_terminal(stderr)) return;
  line_ = std::make_unique<report::ProgressLine>(stderr, report::RunLength{});
}

void BatchProgress::show(std::int64_t batch, std::int64_t batches) {
  if (line_ == nullptr) return;
  report::ProgressEvent event;
  event.split = what_;
  event.batch = batch;
  event.batches = batches;
  line_->write(event);
}

}  // namespace mirrortrain::cli
