#include "report/batch_progress.h"

#include <cstdio>
#include <utility>

namespace mirrortrain::report {

BatchProgress::BatchProgress(std::string what, bool shown) : what_(std::move(what)) {
  if (!shown || !is_terminal(stderr)) return;
  line_ = std::make_unique<ProgressLine>(stderr, RunLength{});
}

void BatchProgress::show(std::int64_t batch, std::int64_t batches) {
  if (line_ == nullptr) return;
  ProgressEvent event;
  event.split = what_;
  event.batch = batch;
  event.batches = batches;
  line_->write(event);
}

void BatchProgress::clear() {
  if (line_ != nullptr) line_->clear();
}

}  // namespace mirrortrain::report
