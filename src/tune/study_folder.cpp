#include "tune/study_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "config/document.h"
#include "report/tensorboard_hparams.h"
#include "tune/study_rows.h"

namespace mirrortrain::tune {
namespace {

namespace fs = std::filesystem;

/// Keys that a study may be continued with other values of: they change none of its trials.
std::vector<std::string> free_keys(const SearchOptions& search) {
  std::vector<std::string> keys;
  if (std::holds_alternative<NoPruner>(search.pruner.value)) keys.emplace_back("search.trials");
  if (search.sampler != SearchSampler::kTpe) keys.emplace_back("search.parallel");
  return keys;
}

/// The keys of the parameters, in the order in which a grid combines their values.
std::vector<std::string> searched_keys(const config::Value& root) {
  std::vector<std::string> keys;
  const config::Value::Entry* const search = root.find("search");
  const config::Value::Entry* const parameters = search == nullptr ? nullptr : search->value.find("parameters");
  if (parameters == nullptr || !parameters->value.is_mapping()) return keys;
  for (const config::Value::Entry& parameter : parameters->value.entries()) keys.push_back(parameter.key);
  return keys;
}

}  // namespace

std::string first_difference(const config::Value& before, const config::Value& now,
                             std::span<const std::string> ignored) {
  const auto old_values = config::flatten(before), new_values = config::flatten(now);
  const std::map<std::string, std::string> by_key(new_values.begin(), new_values.end());
  const std::map<std::string, std::string> old_by_key(old_values.begin(), old_values.end());
  const auto text = [](const std::map<std::string, std::string>& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string("absent") : found->second;
  };
  for (const auto* const values : {&old_values, &new_values}) {
    for (const auto& [key, unused] : *values) {
      if (std::ranges::count(ignored, key) > 0 || text(old_by_key, key) == text(by_key, key)) continue;
      return fmt::format("{} was {} and is {} now", key, shortened(text(old_by_key, key), 100),
                         shortened(text(by_key, key), 100));
    }
  }
  return "";
}

StudyFolder::StudyFolder(fs::path path, const CheckedConfiguration& checked) : path_(std::move(path)) {
  if (!fs::exists(file())) require_free(path_);
  is_made_here_ = !fs::exists(path_);
  create_folders(path_);
  lock_ = RunLock(path_);
  if (const fs::path best = path_ / "best"; fs::exists(best) && !fs::is_symlink(best)) {
    throw UsageError(
        fmt::format("{}: expected a link to the best trial, found something else; move it away", best.string()));
  }
  if (fs::exists(file())) {
    require_same(checked);
    return;
  }
  require_free(path_);  // another process may have been first
  remove_temporary_files({path_});
}

StudyFolder::~StudyFolder() {
  if (!is_made_here_) return;
  lock_ = RunLock();
  std::error_code none;
  fs::remove(path_, none);  // only if it is empty
}

void StudyFolder::begin(const CheckedConfiguration& checked) {
  is_made_here_ = false;
  if (fs::exists(file())) return;
  write_file(file(), "# A study by `mirrortrain tune`, which continues it with the same configuration.\n" +
                         config::show(checked.values(), checked.read.document));
}

void StudyFolder::require_same(const CheckedConfiguration& checked) const {
  config::Errors errors;
  const config::Document before = config::load(file().string(), {}, errors);
  errors.throw_if_any();
  const config::Value now = config::Codec<Configuration>::show(checked.values());
  std::string difference = first_difference(before.root, now, free_keys(*checked.values().search));
  if (difference.empty() && searched_keys(before.root) != searched_keys(now)) {
    difference = "search.parameters are in another order";
  }
  if (difference.empty()) return;
  throw UsageError(fmt::format("{}: this study has another configuration: {}; name another folder with --run-dir",
                               path_.string(), difference));
}

fs::path StudyFolder::trial(int number) const { return path_ / trial_folder_name(number); }

RunFolder StudyFolder::run(int number, std::int64_t fold) const {
  return {fold > 0 ? trial(number) / fmt::format("fold-{}", fold) : trial(number)};
}

fs::path StudyFolder::hparams(int number) const { return trial(number) / report::kHParamsFile; }

void StudyFolder::link_best(int number) const {
  const fs::path link = path_ / "best", temporary = path_ / ".best.new";
  std::error_code none;
  if (fs::read_symlink(link, none) == trial_folder_name(number)) return;
  fs::remove(temporary);  // of a process that was killed
  fs::create_directory_symlink(trial_folder_name(number), temporary);
  rename_durably(temporary, link);
}

void StudyFolder::unlink_best() const {
  std::error_code none;
  if (fs::is_symlink(path_ / "best", none)) fs::remove(path_ / "best");
}

}  // namespace mirrortrain::tune
