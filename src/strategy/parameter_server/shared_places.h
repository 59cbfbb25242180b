#pragma once

#include <signal.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "collective/shared_memory/shared_memory.h"
#include "strategy/parameter_server/parameter_server.pb.h"

namespace mirrortrain::parameter_server {

/// The memory that workers of this machine share with this server.
class SharedPlaces {
 public:
  /// So many elements where a message says that they are; nothing where it does not, or this is another machine.
  template <class Message>
  std::optional<std::span<float>> find(const Message& message, std::int64_t count) {
    if (!message.has_place()) return std::nullopt;
    const SharedPlace& place = message.place();
    const auto memory = open(place);
    if (!memory) return std::nullopt;
    const std::int64_t all = place.bytes() / static_cast<std::int64_t>(sizeof(float));
    if (place.first() < 0 || place.first() > all || count > all - place.first()) return std::nullopt;
    auto* const elements = reinterpret_cast<float*>(memory->bytes().data()) + place.first();
    return std::span(elements, static_cast<std::size_t>(count));
  }

 private:
  struct Opened {
    std::unique_ptr<SharedMemory> memory;
    pid_t process = 0;
  };

  const SharedMemory* open(const SharedPlace& place) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = opened_.find(place.name()); found != opened_.end()) {
      return std::cmp_equal(found->second.memory->bytes().size(), place.bytes()) ? found->second.memory.get() : nullptr;
    }
    if (place.bytes() <= 0) return nullptr;
    auto memory = SharedMemory::open(place.name(), static_cast<std::size_t>(place.bytes()));
    if (!memory) return nullptr;
    // What workers had that are gone.
    std::erase_if(opened_, [](const auto& one) { return ::kill(one.second.process, 0) != 0 && errno == ESRCH; });
    return (opened_[place.name()] = {std::move(memory), static_cast<pid_t>(place.process())}).memory.get();
  }

  std::mutex mutex_;
  std::map<std::string, Opened> opened_;
};

}  // namespace mirrortrain::parameter_server
