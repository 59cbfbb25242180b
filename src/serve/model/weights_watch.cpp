#include "serve/model/weights_watch.h"

#include <fmt/format.h>

#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace mirrortrain {

namespace fs = std::filesystem;

WeightsWatch::WeightsWatch(const NamedRun& run) : run_(run), seen_(look()), kept_(kept()) {}

bool WeightsWatch::has_changed() {
  Seen now;
  try {
    now = look();
  } catch (const Error& error) {
    now.fault = error.what();
  }
  if (now == seen_) return false;
  seen_ = std::move(now);  // weights that cannot be used are not tried again
  if (!seen_.fault.empty()) throw Error(seen_.fault);
  return true;
}

void WeightsWatch::require_same_data() const {
  if (kept() == kept_) return;
  throw Error(fmt::format("{}: the run was trained on other data meanwhile; start the server again",
                          run_.folder.path.string()));
}

WeightsWatch::Seen WeightsWatch::look() const {
  const RunWeights weights = weights_of(run_, false);
  std::error_code none;
  return {weights.file, fs::last_write_time(weights.file, none), weights.step, weights.checksum};
}

std::string WeightsWatch::kept() const {
  std::string all;
  for (const fs::path& file : {run_.folder.classes(), run_.folder.preprocessing()}) {
    if (fs::exists(file)) all += read_text_file(file);
    all += '\0';
  }
  return all;
}

}  // namespace mirrortrain
