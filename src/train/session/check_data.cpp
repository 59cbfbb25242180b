#include "train/session/check_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/feeding/feeder.h"
#include "data/files/file_list.h"
#include "data/loading/adapt.h"
#include "data/loading/load.h"
#include "train/checkpoint/load_initial_weights.h"
#include "train/session/hardware.h"
#include "train/session/left_out.h"
#include "train/session/run.h"
#include "train/session/run_strategy.h"
#include "train/warnings/data_warnings.h"
#include "train/warnings/layer_warnings.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

/// Whether it is a run's own configuration, which is next to the run's other files whatever its name.
bool is_of_run(const fs::path& configuration) {
  const RunFolder folder{configuration.parent_path()};
  std::error_code none;
  return configuration.filename() == folder.config().filename() &&
         (fs::exists(folder.metrics(), none) || fs::exists(folder.log(), none) || fs::exists(folder.summary(), none) ||
          fs::exists(folder.checkpoints(), none));
}

/// For a run's own configuration, the same key can be overridden.
std::string moved_text(const config::NamedFile& named) {
  return named.place.given() && is_of_run(*named.place.source)
             ? fmt::format("; if it was moved, say where it is: --set {}=PATH", named.path)
             : "";
}

/// Adds errors for files and folders that do not exist, of keys that begin with one of `paths`. Patterns are checked
/// when they are read.
void check_files(const CheckedConfiguration& checked, const std::vector<std::string>& paths, config::Errors& errors) {
  for (const config::NamedFile& named : checked.read.document.files) {
    const bool is_pattern = data::has_wildcards(named.file);
    const bool is_looked_at =
        std::ranges::any_of(paths, [&](const std::string& path) { return named.path.starts_with(path); });
    const bool is_made = named.path == "data.cache_directory";  // where it is needed
    if (!is_looked_at || is_pattern || is_made || fs::exists(named.file)) continue;
    if (named.file.find(":/") != std::string::npos) {
      errors.add(named.place, named.path,
                 fmt::format("{}: data are read from files of this machine; download them, and name the file",
                             named.file.substr(named.file.find_last_of('/', named.file.find(":/")) + 1)));
      continue;
    }
    fs::path there = named.file;  // up to the part that exists
    while (there.has_relative_path() && !fs::exists(there)) there = there.parent_path();
    const std::string missing =
        fs::path(named.file).parent_path() == there
            ? ""
            : fmt::format(": there is no folder {} in {}",
                          fs::path(named.file).lexically_relative(there).begin()->string(), there.string());
    errors.add(named.place, named.path, fmt::format("{} does not exist{}{}", named.file, missing, moved_text(named)));
  }
}

/// Whether the split has data outside the file, which was checked with the file.
template <class AnySource>
bool is_read_from_files(const AnySource& source) {
  return std::visit(
      [](const auto& held) {
        using Format = std::decay_t<decltype(held)>;
        return !std::is_same_v<Format, data::Inline> && !std::is_same_v<Format, data::Synthetic>;
      },
      source);
}

std::string bad_examples_text(const data::LeftOut& left) {
  return fmt::format(
      "{} of {} examples in {} cannot be used; correct or remove them, or have them left out by data.on_bad_example: "
      "skip{}",
      left.count(), left.examples, left.origin, reasons_text(left));
}

/// Reads the split in the model's form; nullopt if it is broken, which is added to `errors`. `adapted`: the values
/// adapted to the training data, if it was read; set by reading it. `mismatches`: between the model and other splits,
/// which are not said again of this one.
std::optional<data::Dataset> read_split(const CheckedConfiguration& checked, data::Split split, const std::string& path,
                                        const config::Place& place, std::optional<data::Adapted>& adapted,
                                        std::set<std::string>& mismatches, DataCheck how, config::Errors& errors) {
  if (errors.concern(path)) return std::nullopt;
  data::DataOptions options = checked.values().data;
  const bool are_errors = options.on_bad_example == data::OnBadExample::kError;
  // To find those behind the first one, too.
  if (how == DataCheck::kThorough) options.on_bad_example = data::OnBadExample::kSkip;
  try {
    auto loaded = data::load(options, checked.values().seed, checked.wanted_examples(), split,
                             split != data::Split::kTrain && adapted ? &*adapted : nullptr);
    std::optional<data::Dataset> dataset;
    if (loaded) dataset = std::move(loaded->dataset);
    if (loaded && split == data::Split::kTrain) adapted = std::move(loaded->adapted);
    const bool is_part = split == data::Split::kValidation && checked.values().data.part_of_train() != nullptr;
    if (dataset && dataset->left_out() != nullptr && !is_part) {
      const data::LeftOut& left = *dataset->left_out();
      if (are_errors) {
        errors.add(place, path, bad_examples_text(left));
      } else {
        errors.warn(place, path,
                    left_out_text(left, how == DataCheck::kThorough ? LeftOutList::kAll : LeftOutList::kFirst));
      }
    }
    if (dataset && checked.has_model()) {
      const data::Feeder looked_at(*dataset, data::without_adapting(checked.values().data.preprocessing),
                                   checked.examples, {.bucket_boundaries = bucket_boundaries(checked.values().data)});
    }
    return dataset;
  } catch (const data::NoneUsableAt& error) {
    errors.add(place, path, are_errors ? bad_examples_text(error.left_out()) : error.message());
    return std::nullopt;
  } catch (const data::NoneUsable& error) {
    errors.add(place, path, are_errors ? bad_examples_text(error.left_out()) : error.what());
    return std::nullopt;
  } catch (const data::KeyErrorBelow& error) {
    const config::Place own = checked.place_of(error.own_path());
    const std::string& at = own.given() ? error.own_path() : error.path();
    errors.add(own.given() ? own : error.place(), at, error.message());
    return std::nullopt;
  } catch (const data::AtKey& error) {  // once, even if several splits have it
    if (!errors.concern(error.path())) errors.add(error.place(), error.path(), error.message());
    return std::nullopt;
  } catch (const data::ShapeMismatch& error) {
    if (mismatches.insert(error.mismatch()).second) errors.add(place, path, error.what());
    return std::nullopt;
  } catch (const Error& error) {
    errors.add(place, path, error.what());
    return std::nullopt;
  }
}

/// Number of training examples of a source that is in the file itself; nullopt for others.
std::optional<std::int64_t> rows_of_train(const data::DataOptions& data) {
  std::int64_t rows = 0;
  if (const auto* const synthetic = std::get_if<data::Synthetic>(&data.train.value)) {
    rows = synthetic->examples;
  } else if (const auto* const listed = std::get_if<data::Inline>(&data.train.value)) {
    const auto inputs = listed->all_inputs();
    rows = inputs.empty() ? 0 : inputs.front().second->shape[0];
  }
  if (rows == 0) return std::nullopt;
  const auto* const part = data.part_of_train();
  return part == nullptr ? rows : part->kept_of(rows);
}

/// Adds an error if a data set yields no batch.
void check_batches(const CheckedConfiguration& checked, std::int64_t rows, config::Errors& errors) {
  const data::DataOptions& data = checked.values().data;
  if (!data.drop_remainder || rows >= data.global_batch_size) return;
  errors.add(
      checked.place_of("data.drop_remainder"), "data.drop_remainder",
      fmt::format("leaves no batch: the {} training examples are less than the global batch of {}; use a smaller "
                  "data.global_batch_size, or drop_remainder: false",
                  rows, data.global_batch_size));
}

/// Adds the errors that a run with this many examples would report before its first step.
void check_steps(const CheckedConfiguration& checked, std::int64_t rows, config::Errors& errors) {
  const Configuration& values = checked.values();
  if (values.strategy.declaration().on_cluster || rows == 0) return;  // the examples' distribution is unknown
  check_batches(checked, rows, errors);
  const std::int64_t batch = values.data.global_batch_size;
  const bool drops = values.data.drop_remainder && rows >= batch;  // else as check_batches advises
  check_updates(checked, values.training.total_steps(data::batches_of(rows, batch, drops)), errors);
}

/// Reads the weights like a run, into variables that are not otherwise used.
void check_initial_weights(const CheckedConfiguration& checked, config::Errors& errors) {
  if (!checked.has_model() || !checked.values().model->initial_weights) return;
  StrategyOptions alone;
  alone.type = kSingleReplica;
  alone.devices = std::vector<DeviceId>{{DeviceId::Kind::kCpu, 0}};
  try {
    const auto strategy = make_strategy(checked, {.trains = false, .strategy = alone}, this_hardware());
    read_initial_weights(*checked.values().model->initial_weights, *strategy);
  } catch (const Error& error) {
    errors.add(checked.place_of("model.initial_weights"), "model.initial_weights", error.what());
  }
}

}  // namespace

void check_data(const CheckedConfiguration& checked, config::Errors& errors, DataCheck how) {
  const bool is_whole = errors.empty();  // otherwise examples cannot be compared with the model
  check_files(checked, {"data.", "model."}, errors);
  if (!is_whole) return;
  const data::DataOptions& data = checked.values().data;
  std::optional<data::Dataset> train, validation, test;
  std::optional<data::Adapted> adapted;
  std::set<std::string> mismatches;
  const bool reads_train = is_read_from_files(data.train.value);
  if (reads_train)
    train =
        read_split(checked, data::Split::kTrain, data.train.path, data.train.place, adapted, mismatches, how, errors);
  // Errors in the training data do not concern a split that depends on values adapted to them.
  const auto can_be_read = [&](data::Split split) {
    return train || !reads_train || !data::needs_adapted(data, split);
  };
  const bool own_validation = data.validation.value && is_read_from_files(*data.validation.value);
  const bool is_part = data.part_of_train() != nullptr;
  if (own_validation && (is_part ? train.has_value() : can_be_read(data::Split::kValidation))) {
    validation = read_split(checked, data::Split::kValidation, data.validation.path, data.validation.place, adapted,
                            mismatches, how, errors);
  }
  if (data.test.value && is_read_from_files(*data.test.value) && can_be_read(data::Split::kTest)) {
    test = read_split(checked, data::Split::kTest, data.test.path, data.test.place, adapted, mismatches, how, errors);
  }
  const auto pointer = [](const std::optional<data::Dataset>& dataset) { return dataset ? &*dataset : nullptr; };
  if (checked.has_model()) {
    const StrategyOptions& strategy = checked.values().strategy;
    warn_of_lone_rows(checked, strategy.declaration().on_cluster ? 1 : fewest_batch_parts(strategy), errors);
  }
  if (train)
    warn_of_data(checked, {&*train, pointer(validation), pointer(test), adapted ? &*adapted : nullptr}, errors);
  const auto rows = train ? std::optional(train->rows()) : rows_of_train(data);
  if (rows && (train || !reads_train)) check_steps(checked, *rows, errors);
  if (!errors.concern("model.initial_weights")) check_initial_weights(checked, errors);
}

void require_data_files(const CheckedConfiguration& checked, const std::vector<data::Split>& splits) {
  std::vector<std::string> paths;
  for (const data::Split split : splits) {
    const bool is_part = split == data::Split::kValidation && checked.values().data.part_of_train() != nullptr;
    paths.push_back(fmt::format("data.{}.", data::name_of(is_part ? data::Split::kTrain : split)));
  }
  config::Errors errors;
  check_files(checked, paths, errors);
  if (!errors.empty()) throw Error(errors.text());
}

void check_updates(const CheckedConfiguration& checked, std::int64_t steps, config::Errors& errors) {
  const std::int64_t accumulated = checked.values().gradients.accumulate_steps;
  if (!checked.has_model() || steps == 0 || accumulated <= steps || errors.concern("gradients")) return;
  errors.add(
      checked.place_of("gradients.accumulate_steps"), "gradients.accumulate_steps",
      fmt::format("{} is more than the {} step{} of this run, so no weight would ever change; use at most {}, or "
                  "train longer",
                  accumulated, steps, steps == 1 ? "" : "s", steps));
}

void check_given_steps(const CheckedConfiguration& checked, config::Errors& errors) {
  const auto& steps = checked.values().training.steps;
  if (steps && !errors.concern("training")) check_updates(checked, *steps, errors);
}

void require_batches(const CheckedConfiguration& checked, std::int64_t rows) {
  config::Errors errors;
  check_steps(checked, rows, errors);
  if (errors.concern("data.drop_remainder")) throw_data_errors(errors);
}

void require_updates(const CheckedConfiguration& checked, std::int64_t steps) {
  config::Errors errors;
  check_updates(checked, steps, errors);
  errors.throw_if_any();
}

void throw_data_errors(const config::Errors& errors) {
  const auto concern = [&](const char* path) { return errors.concern(path); };
  const bool reading_ends = concern("data.train") || concern("data.validation") || concern("data.test");
  if (errors.concern("gradients") && !reading_ends) errors.throw_if_any();
  if (!errors.empty()) throw Error(errors.text());
}

}  // namespace mirrortrain
