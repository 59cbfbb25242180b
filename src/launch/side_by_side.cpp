#include "launch/side_by_side.h"

#include <numeric>
#include <utility>

namespace mirrortrain::launch {

SideBySide::SideBySide(std::vector<MachinePart> parts, ChildOutput output)
    : parts_(std::move(parts)), output_(output), idle_(parts_.size()) {
  std::iota(idle_.rbegin(), idle_.rend(), std::size_t{0});
}

int SideBySide::start(const std::vector<std::string>& words) {
  const std::size_t part = idle_.back();
  running_.emplace(started_, Running{std::make_unique<ChildCommand>(words, parts_[part], output_), part});
  idle_.pop_back();
  return started_++;
}

void SideBySide::signal(int number) const {
  for (const auto& [child, running] : running_) running.command->signal(number);
}

std::vector<SideBySide::Ended> SideBySide::take_ended() {
  std::vector<Ended> all;
  for (auto at = running_.begin(); at != running_.end();) {
    auto end = at->second.command->take_end();
    if (!end) {
      ++at;
      continue;
    }
    all.push_back({at->first, *std::move(end)});
    idle_.push_back(at->second.part);
    at = running_.erase(at);
  }
  return all;
}

}  // namespace mirrortrain::launch
