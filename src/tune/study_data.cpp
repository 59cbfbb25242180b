#include "tune/study_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/fingerprint.h"
#include "data/loading/load.h"
#include "train/session/check_configuration.h"
#include "tune/check_comparable.h"
#include "tune/check_search.h"

namespace mirrortrain::tune {
namespace {

constexpr std::string_view kBehindData = "; other files ";

DataFingerprints fingerprints_of(const CheckedConfiguration& checked) {
  data::DataOptions options = checked.values().data;
  options.test.value.reset();  // no trial is judged by them
  const data::Splits splits = data::load(options, checked.values().seed, checked.wanted_examples());
  DataFingerprints data;
  data.train = data::fingerprint(splits.train);
  data.train_parts = data::parts_of_fingerprint(splits.train);
  if (splits.validation) {
    data.validation = data::fingerprint(*splits.validation);
    data.validation_parts = data::parts_of_fingerprint(*splits.validation);
  }
  return data;
}

/// ", in the labels (train.csv)", of the first split that differs, with its name before it.
std::string difference(const DataFingerprints& before, const DataFingerprints& now) {
  if (before.train != now.train) {
    return "data.train" + data::different_parts(before.train, now.train, now.train_parts);
  }
  return "data.validation" + data::different_parts(before.validation, now.validation, now.validation_parts);
}

bool is_of_data(const config::NamedFile& named) {
  return is_at_or_below(named.path, "data.train") || is_at_or_below(named.path, "data.validation");
}

std::vector<std::string> data_named(const CheckedConfiguration& checked) {
  std::vector<std::string> names;
  for (const config::NamedFile& named : checked.read.document.files) {
    if (is_of_data(named)) names.push_back(named.file);
  }
  return names;
}

/// What else trials read, in the configuration itself and in each listed value.
std::vector<std::string> others_named(const StudyPlan& plan, const std::vector<std::string>& known) {
  std::set<std::string> names;
  const auto take = [&](const config::Document& document) {
    for (const config::NamedFile& named : document.files) {
      const bool is_read =
          is_of_data(named) || is_at_or_below(named.path, "data.preprocessing") || is_at_or_below(named.path, "model");
      if (is_read && std::ranges::count(known, named.file) == 0) names.insert(named.file);
    }
  };
  take(plan.checked.read.document);
  for (std::size_t i = 0; i < plan.space.parameters().size(); ++i) {
    const Parameter& parameter = plan.space.parameters()[i];
    if (parameter.kind != Parameter::Kind::kChoice) continue;
    for (std::size_t value = 0; value < parameter.count(); ++value) {
      const auto point = plan.space.point_with(i, parameter.nth(value));
      config::Errors ignored;  // check_search has reported them
      if (point) {
        take(read_configuration(plan.config, trial_overrides(plan.overrides, plan.space, *point), ignored).document);
      }
    }
  }
  return {names.begin(), names.end()};
}

/// The values of a run that change which data it has, as far as they are not the configuration's own.
std::string values_of_data(const SearchSpace& space, const Point& point, std::int64_t fold) {
  std::string text = fold > 0 ? fmt::format("fold {}", fold) : "";
  for (const std::string& setting : space.settings(point)) {
    if (setting.starts_with("data") || setting.starts_with("seed")) text += "; " + setting;
  }
  return text;
}

}  // namespace

StudyData::StudyData(const StudyPlan& plan)
    : plan_(plan),
      named_(data_named(plan.checked)),
      others_(others_named(plan, named_)),
      files_(look()),
      data_(fingerprints_of(plan.checked)) {
  if (!others_.empty()) checksum_ = checksum_of_others();
}

std::uint32_t StudyData::checksum_of_others() const { return checksum_of(look_at(others_)); }

std::string StudyData::text() const {
  return to_text(data_) + (checksum_ ? fmt::format("{}{:08x}", kBehindData, *checksum_) : "");
}

void StudyData::require_same(const std::string& before, const std::string& folder) const {
  if (before.empty() || before == text()) return;
  const DataFingerprints data = data_fingerprints_from(before.substr(0, before.find(kBehindData)));
  const std::string where = data == data_ ? "in a file that the values of its parameters, data.preprocessing or the "
                                            "model name"
                                          : difference(data, data_);
  throw DataChanged(
      fmt::format("{}: the data changed since the study began: {}: expected {}, found {}; give the study its data "
                  "again, or start a new one with another --run-dir",
                  folder, where, before, text()));
}

FileStates StudyData::look() {
  const auto begin = std::chrono::steady_clock::now();
  FileStates states = look_at(named_);
  states.merge(look_at(others_));
  looked_ = std::chrono::steady_clock::now();
  look_takes_ = looked_ - begin;
  return states;
}

void StudyData::require_unchanged(Look how) {
  constexpr int kOnceIn = 20;
  const bool may_wait = std::chrono::steady_clock::now() - looked_ < kOnceIn * look_takes_;
  if (how == Look::kSometimes && may_wait) return;
  FileStates now = look();
  if (now == files_) return;
  const std::string file = first_changed(files_, now);
  const DataFingerprints data = fingerprints_of(plan_.checked);
  const bool are_others_same = others_.empty() || checksum_of_others() == checksum_;
  if (data == data_ && are_others_same) {  // the same numbers, written again
    files_ = std::move(now);
    return;
  }
  throw DataChanged(
      fmt::format("{} was changed while the study was running, so that trials would not be comparable{}; give the "
                  "study its data again, and `mirrortrain tune` continues it",
                  file, data == data_ ? "" : ": " + difference(data_, data)));
}

void StudyData::require_data_of_run(const DataFingerprints& of_run, const Point& point, std::int64_t fold,
                                    std::span<const std::string> settings, const std::string& run) {
  const auto are_same = [&](const DataFingerprints& data) {
    return of_run.train == data.train && (of_run.validation.empty() || of_run.validation == data.validation);
  };
  if (are_same(data_)) return;
  const std::pair key(values_of_data(plan_.space, point, fold), to_text(of_run));
  if (known_.contains(key)) return;
  require_unchanged(Look::kNow);
  const DataFingerprints expected = fingerprints_of(check_configuration(plan_.config, settings));
  if (are_same(expected)) {
    known_.insert(key);
    return;
  }
  throw DataChanged(
      fmt::format("{}: the data were changed for a while as the study was running, and this run was trained on other "
                  "ones: {}; `mirrortrain tune` continues the study, and trains it anew",
                  run, difference(of_run, expected)));
}

}  // namespace mirrortrain::tune
