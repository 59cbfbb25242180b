#pragma once

#include <fmt/format.h>

#include <string>

#include "strategy/strategy.h"

namespace mirrortrain {

/// Of each lane of the process, on a line of its own; where neighbours are alike, "NAME x COUNT".
inline std::string step_list(const Strategy& strategy) {
  std::string text, lane, last;
  int count = 0;
  const auto finish = [&] {
    if (count > 1) text += fmt::format(" x {}", count);
    count = 0;
  };
  for (const ProfileEntry& entry : strategy.profile_entries()) {
    if (!entry.layer.empty() || entry.who.starts_with("replica")) continue;
    if (entry.who != lane) {
      finish();
      text += fmt::format("{}{}:", text.empty() ? "" : "\n", entry.who);
      lane = entry.who;
      last.clear();
    }
    if (entry.what != last) {
      finish();
      text += fmt::format("{} {}", text.ends_with(':') ? "" : ",", entry.what);
    }
    ++count;
    last = entry.what;
  }
  finish();
  return text;
}

}  // namespace mirrortrain
