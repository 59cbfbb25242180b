#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "collective/process_group.h"

namespace mirrortrain {

/// Rendezvous stores for ranks that are threads of one process; ranks of several processes use the control plane. It
/// must outlive its stores.
class ThreadRendezvous {
 public:
  RendezvousStore store() {
    const auto put = [this](const std::string& key, const std::string& value) {
      const std::scoped_lock lock(mutex_);
      values_[key] = value;
      changed_.notify_all();
    };
    const auto get = [this](const std::string& key) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return values_.contains(key); });
      return values_[key];
    };
    const auto gather = [put, get](const std::string& key, int rank, int size, std::span<const std::string> values) {
      const auto name = [&](int from, int to) {
        return key + ": " + std::to_string(from) + " to " + std::to_string(to);
      };
      for (int to = 0; to < size; ++to)
        put(name(rank, to), values[values.size() == 1 ? 0 : static_cast<std::size_t>(to)]);
      std::vector<std::string> gathered;
      for (int from = 0; from < size; ++from) gathered.push_back(get(name(from, rank)));
      return gathered;
    };
    return {put, get, gather};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace mirrortrain
