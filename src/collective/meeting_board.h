#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "collective/process_group.h"

namespace mirrortrain {

/// Where ranks find each other that are threads of one process, as those of several do by the control plane. It
/// outlives its points.
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
