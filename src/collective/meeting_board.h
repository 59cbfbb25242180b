#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "collective/process_group.h"

namespace mirrortrain {

/// A rendezvous store for ranks that are threads of one process; ranks of several processes use the control plane. It
/// must outlive its points.
class MeetingBoard {
 public:
  RendezvousStore point() {
    return {[this](const std::string& key, const std::string& value) {
              const std::scoped_lock lock(mutex_);
              values_[key] = value;
              changed_.notify_all();
            },
            [this](const std::string& key) {
              std::unique_lock lock(mutex_);
              changed_.wait(lock, [&] { return values_.contains(key); });
              return values_[key];
            }};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace mirrortrain
