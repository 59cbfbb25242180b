#include "data/undecodable.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "data/kept_findings.h"

namespace mirrortrain::data {
namespace {

using Faults = std::vector<std::pair<std::int64_t, std::string>>;

/// Returns nothing if the cached findings are unusable.
std::optional<Faults> known_faults(const std::string& identity, std::int64_t rows) {
  const std::optional<nlohmann::json> kept = kept_finding("pictures", identity);
  if (!kept) return std::nullopt;
  try {
    if (kept->at("pictures") != rows) return std::nullopt;
    auto faults = kept->at("bad").get<Faults>();
    const auto is_wrong = [&](const auto& one) { return one.first < 0 || one.first >= rows; };
    if (std::ranges::any_of(faults, is_wrong) || !std::ranges::is_sorted(faults)) return std::nullopt;
    return faults;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
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
  if (auto known = known_faults(identity, rows)) return *std::move(known);
  Faults faults = decode_all(source, rows, threads);
  if (source.identity() == identity) {  // otherwise the files changed meanwhile
    keep_finding("pictures", identity, {{"pictures", rows}, {"bad", faults}});
  }
  return faults;
}

}  // namespace mirrortrain::data
