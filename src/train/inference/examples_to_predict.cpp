#include "train/inference/examples_to_predict.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/files/file_list.h"
#include "data/key_error.h"
#include "data/loading/new_data.h"
#include "train/checkpoint/checkpoint.h"
#include "train/inference/predict.h"
#include "train/session/check_data.h"
#include "train/session/scale_warnings.h"

namespace mirrortrain {

namespace fs = std::filesystem;

data::Dataset read_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked,
                            const data::Adapted* adapted) {
  const Configuration& values = checked.values();
  if (wanted.data) {
    if (!data::has_wildcards(*wanted.data) && !fs::exists(*wanted.data)) {
      throw Error(fmt::format("--data {}: there is no such file or folder; check the path", *wanted.data));
    }
    const data::ExampleSpec spec = data::spec_before_bins(checked.examples, values.data.preprocessing);
    return data::read_new(data::new_source(*wanted.data, values.data), adapted ? *adapted : data::Adapted{},
                          data::wanted_by(&spec, values.data.preprocessing), values.data.on_bad_example,
                          feeder_options(values).ahead.threads);
  }
  require_data_files(checked, {wanted.split});
  auto loaded = data::load(values.data, values.seed, checked.wanted_examples(), wanted.split, adapted);
  if (loaded) return std::move(loaded->dataset);
  throw UsageError(data::missing_text(values.data, wanted.split) + ", or a file with --data FILE");
}

void warn_of_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked,
                      const data::Dataset& examples, const fs::path& checkpoints) {
  const data::Dataset* const all[] = {&examples};
  report_left_out(all, LeftOutList::kFirst);
  warn_of_remarks(examples);
  if (!wanted.data) {
    return warn_of_changed_data(checkpoints, wanted.split, examples,
                                data::is_drawn_from_train(checked.values().data, wanted.split));
  }
  if (const std::string twice = rescaled_twice(checked, examples); !twice.empty()) {
    spdlog::warn("{}: {}, or write them as the training data", *wanted.data, twice);
  }
}

Run run_on_examples(const ExamplesToPredict& wanted, const CheckedConfiguration& checked, const data::Dataset& examples,
                    const data::Adapted& adapted) {
  const data::SplitKey key = wanted.data ? data::SplitKey{} : data::key_of(checked.values().data, wanted.split);
  try {
    return run_to_predict(checked, examples, adapted, {.key = key});
  } catch (const data::KeyError&) {
    for (std::size_t i = 0; i < examples.inputs().size(); ++i) {
      const data::Array& features = examples.features(i);
      const std::string mismatch = data::features_mismatch(features.row_shape(), checked.examples.inputs[i]);
      if (mismatch.empty()) continue;
      return data::at_its_place(key, [&]() -> Run { throw Error(fmt::format("{}: {}", features.origin, mismatch)); });
    }
    throw;
  }
}

StandardInput::StandardInput() : folder_("--data -: cannot make a folder for what stdin has") {
  std::string text;
  std::array<char, 1 << 16> block{};
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), stdin)) text.append(block.data(), count);
  write_file(file(), text);
}

}  // namespace mirrortrain
