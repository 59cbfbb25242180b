#include "tune/study_data.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

#include "data/files/file_list.h"
#include "data/fingerprint.h"
#include "data/loading/load.h"

namespace mirrortrain::tune {
namespace {

namespace fs = std::filesystem;

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

/// The files that a key of the configuration names: itself, all in it if it is a folder, or a glob's.
std::vector<std::string> files_named(const std::string& path) {
  std::vector<std::string> files;
  std::error_code none;
  if (fs::is_directory(path, none)) {
    for (fs::recursive_directory_iterator at(path, none), end; at != end; at.increment(none)) {
      if (!at->is_directory(none)) files.push_back(at->path().string());
    }
    return files;
  }
  try {
    std::vector<std::string> remarks;
    return data::expanded(config::Path{path}, remarks);
  } catch (const Error&) {  // a glob without any file: reading the data says so
    return {};
  }
}

}  // namespace

StudyData::StudyData(const CheckedConfiguration& checked)
    : checked_(checked), files_(look_at_files()), data_(fingerprints_of(checked)) {}

std::string StudyData::text() const { return to_text(data_); }

void StudyData::require_same(const std::string& before, const std::string& folder) const {
  if (before.empty() || before == text()) return;
  throw DataChanged(
      fmt::format("{}: the data changed since the study began: {}: expected {}, found {}; give the study its data "
                  "again, or start a new one with another --run-dir",
                  folder, difference(data_fingerprints_from(before), data_), before, text()));
}

StudyData::FileStates StudyData::look_at_files() const {
  FileStates states;
  for (const config::NamedFile& named : checked_.read.document.files) {
    const bool is_read = named.path.starts_with("data.train") || named.path.starts_with("data.validation");
    if (!is_read) continue;
    for (const std::string& file : files_named(named.file)) {
      struct stat status {};
      FileState& state = states[file];
      if (::stat(file.c_str(), &status) != 0) continue;
      state = {status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, status.st_ino};
    }
  }
  return states;
}

void StudyData::require_unchanged() {
  FileStates now = look_at_files();
  if (now == files_) return;
  std::string file;
  for (const FileStates* const states : {&now, &files_}) {
    for (const auto& [name, state] : *states) {
      if (!file.empty()) break;
      const auto in_now = now.find(name), before = files_.find(name);
      if (in_now == now.end() || before == files_.end() || in_now->second != before->second) file = name;
    }
  }
  const DataFingerprints data = fingerprints_of(checked_);
  if (data == data_) {  // the same numbers, written again
    files_ = std::move(now);
    return;
  }
  throw DataChanged(
      fmt::format("{} was changed while the study was running, so that trials would not be comparable: {}; give the "
                  "study its data again, and `mirrortrain tune` continues it",
                  file, difference(data_, data)));
}

}  // namespace mirrortrain::tune
