#include "rpc/handshakes.h"

#include <fmt/format.h>

#include <algorithm>

namespace mirrortrain::rpc {
namespace {

bool has(const Hello& hello, const std::string& key) {
  return std::ranges::any_of(hello.configuration(), [&](const Setting& setting) { return setting.key() == key; });
}

}  // namespace

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
    const bool is_same_key = here.key() == there.key(), is_chiefs = !is_same_key && !has(own, there.key());
    return fmt::format("{}: {} is {}, but {} on {}; give every task the same configuration", task.name,
                       is_chiefs ? there.key() : here.key(), is_chiefs ? "absent" : text(here.value()),
                       is_same_key || is_chiefs ? text(there.value()) : "absent", chief.name);
  }
  if (own.configuration_size() == reference.configuration_size()) return "";
  const bool more = own.configuration_size() > common;
  return fmt::format("{} has {}, which {} has not; give every task the same configuration",
                     more ? task.name : chief.name, (more ? own : reference).configuration(common).key(),
                     more ? chief.name : task.name);
}

}  // namespace mirrortrain::rpc
