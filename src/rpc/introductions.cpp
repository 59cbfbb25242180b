#include "rpc/introductions.h"

#include <fmt/format.h>

#include <algorithm>

namespace mirrortrain::rpc {

std::string mismatch(const Introduced& task, const Introduced& chief) {
  const Hello &own = task.hello, &reference = chief.hello;
  if (own.version() != reference.version()) {
    return fmt::format("{} runs mirrortrain {}, {} runs {}; use the same version everywhere", task.name, own.version(),
                       chief.name, reference.version());
  }
  const auto text = [](const std::string& value) { return value.empty() ? std::string("absent") : value; };
  const int common = std::min(own.configuration_size(), reference.configuration_size());
  for (int i = 0; i < common; ++i) {
    const Setting &here = own.configuration(i), &there = reference.configuration(i);
    if (here.key() == there.key() && here.value() == there.value()) continue;
    if (here.key() != there.key()) {
      return fmt::format("{} has {} where {} has {}; give every task the same configuration", task.name, here.key(),
                         chief.name, there.key());
    }
    return fmt::format("{}: {} is {}, but {} on {}; give every task the same configuration", task.name, there.key(),
                       text(here.value()), text(there.value()), chief.name);
  }
  if (own.configuration_size() == reference.configuration_size()) return "";
  const bool more = own.configuration_size() > common;
  return fmt::format("{} has {}, which {} has not; give every task the same configuration",
                     more ? task.name : chief.name, (more ? own : reference).configuration(common).key(),
                     more ? chief.name : task.name);
}

}  // namespace mirrortrain::rpc
