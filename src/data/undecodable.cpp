#include "data/undecodable.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <thread>

#include "base/files.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;
using Faults = std::vector<std::pair<std::int64_t, std::string>>;

/// Empty where there is no such folder.
fs::path cache_folder() {
  if (const char* const given = std::getenv("XDG_CACHE_HOME"); given != nullptr && given[0] == '/') {
    return fs::path(given) / "mirrortrain";
  }
  if (const char* const home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return fs::path(home) / ".cache" / "mirrortrain";
  }
  return {};
}

fs::path cache_file(const std::string& identity) {
  const fs::path folder = cache_folder();
  if (folder.empty()) return {};
  return folder / fmt::format("pictures-{:08x}.json", crc32_of(std::as_bytes(std::span(identity))));
}

/// What cannot be used of it is as good as no file.
std::optional<Faults> cached(const fs::path& file, const std::string& identity, std::int64_t rows) {
  std::error_code none;
  if (file.empty() || !fs::is_regular_file(file, none)) return std::nullopt;
  try {
    const auto json = nlohmann::json::parse(read_text_file(file));
    if (json.at("identity") != identity || json.at("pictures") != rows) return std::nullopt;
    auto faults = json.at("bad").get<Faults>();
    const auto is_wrong = [&](const auto& one) { return one.first < 0 || one.first >= rows; };
    if (std::ranges::any_of(faults, is_wrong) || !std::ranges::is_sorted(faults)) return std::nullopt;
    return faults;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// Where it cannot be written, the next run looks again.
void keep(const fs::path& file, const std::string& identity, std::int64_t rows, const Faults& faults) {
  if (file.empty()) return;
  try {
    create_folders(file.parent_path());
    write_file(file, nlohmann::json{{"identity", identity}, {"pictures", rows}, {"bad", faults}}.dump() + "\n");
  } catch (const std::exception&) {
  }
}

Faults decode_all(const ExampleSource& source, std::int64_t rows, int threads) {
  constexpr std::int64_t kTogether = 16;
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  Faults faults;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::int64_t first = next.fetch_add(kTogether); first < rows; first = next.fetch_add(kTogether)) {
        for (std::int64_t row = first; row < std::min(first + kTogether, rows); ++row) {
          std::optional<std::string> fault = source.fault(row);
          if (!fault) continue;
          const std::lock_guard lock(mutex);
          faults.emplace_back(row, *std::move(fault));
        }
      }
    } catch (...) {
      next = rows;
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  std::ranges::sort(faults);
  return faults;
}

}  // namespace

std::vector<std::pair<std::int64_t, std::string>> undecodable(const ExampleSource& source, std::int64_t rows,
                                                              int threads) {
  const std::string identity = source.identity();
  const fs::path file = cache_file(identity);
  if (auto known = cached(file, identity, rows)) return *std::move(known);
  Faults faults = decode_all(source, rows, threads);
  if (source.identity() == identity) keep(file, identity, rows, faults);  // else the files changed meanwhile
  return faults;
}

}  // namespace mirrortrain::data
