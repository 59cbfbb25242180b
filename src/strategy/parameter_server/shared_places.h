#pragma once

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

/// Elements in a worker's shared memory, which stays mapped as long as this object lives.
struct PlacedElements {
  std::shared_ptr<SharedMemory> memory;
  std::span<float> elements;
};

/// The memory that workers on this machine share with this server.
class SharedPlaces {
 public:
  /// Returns `count` elements at the place in a message; nothing if it has none, or if this is another machine.
  template <class Message>
  std::optional<PlacedElements> find(const Message& message, std::int64_t count) {
    if (!message.has_place()) return std::nullopt;
    const SharedPlace& place = message.place();
    auto memory = open(place);
    if (!memory) return std::nullopt;
    const std::int64_t all = place.bytes() / static_cast<std::int64_t>(sizeof(float));
    if (place.first() < 0 || place.first() > all || count > all - place.first()) return std::nullopt;
    auto* const elements = reinterpret_cast<float*>(memory->bytes().data()) + place.first();
    return PlacedElements{std::move(memory), {elements, static_cast<std::size_t>(count)}};
  }

 private:
  std::shared_ptr<SharedMemory> open(const SharedPlace& place) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = opened_.find(place.name()); found != opened_.end()) {
      return std::cmp_equal(found->second->bytes().size(), place.bytes()) ? found->second : nullptr;
    }
    if (place.bytes() <= 0) return nullptr;
    std::shared_ptr<SharedMemory> memory = SharedMemory::open(place.name(), static_cast<std::size_t>(place.bytes()));
    if (!memory) return nullptr;
    // Memory of workers that are gone; calls that still use it keep it mapped.
    std::erase_if(opened_, [](const auto& one) { return one.second->is_abandoned(); });
    return opened_[place.name()] = std::move(memory);
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<SharedMemory>> opened_;
};

}  // namespace mirrortrain::parameter_server
