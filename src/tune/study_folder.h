#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "train/checkpoint/run_folder.h"
#include "train/checkpoint/run_lock.h"
#include "train/session/check_configuration.h"

namespace mirrortrain::tune {

/// The folder of a study, held by this process: study.yaml, journal.jsonl, a run's folder for each trial, best, a link
/// to the best trial's, and report.html.
class StudyFolder {
 public:
  /// Creates and locks the folder, or opens that of a study with the same configuration, apart from how many trials
  /// there are and how many are trained at a time where neither changes the trials. Throws UsageError where it holds
  /// something else, another study, or is in use.
  StudyFolder(std::filesystem::path path, const CheckedConfiguration& checked);
  StudyFolder(const StudyFolder&) = delete;
  StudyFolder& operator=(const StudyFolder&) = delete;
  /// Removes a folder that it has created, unless the study has begun.
  ~StudyFolder();

  /// Writes study.yaml, with which the folder is a study's: once nothing more can be wrong with it.
  void begin(const CheckedConfiguration& checked);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path journal() const { return path_ / "journal.jsonl"; }
  std::filesystem::path report() const { return path_ / "report.html"; }
  /// Of the trial with this number, from 1.
  std::filesystem::path trial(int number) const;
  /// Of its run for a fold, from 1, or of its only one (0).
  RunFolder run(int number, std::int64_t fold) const;
  /// Its file for TensorBoard's page of hyperparameters.
  std::filesystem::path hparams(int number) const;
  /// Makes `best` a link to a trial's folder; replaces one to another.
  void link_best(int number) const;
  void unlink_best() const;

 private:
  std::filesystem::path file() const { return path_ / "study.yaml"; }
  void require_same(const CheckedConfiguration& checked) const;

  std::filesystem::path path_;
  RunLock lock_;
  bool is_made_here_ = false;  ///< and not begun
};

/// The first key in which two configurations differ, with both values, in words; empty if they are the same.
/// `ignored`: keys that may differ.
std::string first_difference(const config::Value& before, const config::Value& now,
                             std::span<const std::string> ignored);

}  // namespace mirrortrain::tune
