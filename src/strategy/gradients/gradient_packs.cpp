#include "strategy/gradients/gradient_packs.h"

#include <fmt/format.h>

#include <algorithm>

namespace mirrortrain {

GradientPacks::GradientPacks(const VariableStore& variables, std::uint64_t bytes_per_pack) {
  for (Pack& pack : make_packs(variables, bytes_per_pack)) {
    const VariableGroup& group = variables.groups()[static_cast<std::size_t>(pack.group)];
    Member& member = packs_.emplace_back();
    member.aggregation = group.aggregation();
    for (int r = 0; r < variables.replicas(); ++r) {
      member.data.push_back(reinterpret_cast<std::byte*>(group.gradient(r) + pack.begin));
    }
    const auto name_of = [&](std::size_t variable) { return variables.variables()[variable].name(); };
    member.variables = name_of(pack.variables.front());
    if (pack.variables.size() > 1) member.variables += " to " + name_of(pack.variables.back());
    member.pack = std::move(pack);
  }
  name_members();
}

void GradientPacks::name_members() {
  for (std::size_t i = 0; i < packs_.size(); ++i) {
    packs_[i].name = fmt::format("pack {} of {}, gradients of {}", i + 1, packs_.size(), packs_[i].variables);
  }
}

void GradientPacks::order(const std::function<std::size_t(std::size_t variable)>& complete_after) {
  for (Member& member : packs_) {
    for (const std::size_t variable : member.pack.variables) {
      member.full_after = std::max(member.full_after, complete_after(variable));
    }
  }
  std::stable_sort(packs_.begin(), packs_.end(),
                   [](const Member& a, const Member& b) { return a.full_after < b.full_after; });
  name_members();
}

}  // namespace mirrortrain
