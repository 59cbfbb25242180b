// Values that the tasks store for each other, and tables that the ranks of a group share.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rpc/hub.h"

namespace mirrortrain::rpc {

/// Sends a value to every task that waits for it.
void Hub::send_value(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return;
  ToTask message;
  message.mutable_value()->set_key(key);
  message.mutable_value()->set_value(found->second);
  for (Member& member : members_) {
    if (member.send && member.waits_for.erase(key) > 0) member.send(message);
  }
}

/// Sends the table to all ranks once it has the last one's share.
void Hub::take_share(int task, const Share& share) {
  const auto size = static_cast<std::size_t>(share.size()), rank = static_cast<std::size_t>(share.rank());
  Gathering& gathering = gatherings_[share.key()];
  if (gathering.ranks.empty() && size <= members_.size()) {
    gathering.ranks.resize(size);
    gathering.tables.resize(size);
  }
  if (size != gathering.ranks.size() || rank >= size) {
    return fail(
        fmt::format("{} is rank {} of {} in '{}', where others are of {}; all tasks need the same configuration",
                    cluster_.describe(members_[static_cast<std::size_t>(task)].task), rank, size, share.key(),
                    gathering.ranks.size()),
        {&members_[static_cast<std::size_t>(task)]});
  }
  if (gathering.ranks[rank].task < 0) ++gathering.count;
  gathering.ranks[rank] = {task, share.value()};
  for (const Part& part : share.parts()) {
    if (static_cast<std::size_t>(part.rank()) >= size) continue;
    Part& to = *gathering.tables[static_cast<std::size_t>(part.rank())].add_parts();
    to.set_rank(share.rank());
    to.set_value(part.value());
  }
  if (gathering.count < gathering.ranks.size()) return;
  const bool has_values = std::ranges::any_of(gathering.ranks, [](const auto& one) { return !one.value.empty(); });
  for (std::size_t to = 0; to < gathering.ranks.size(); ++to) {
    ToTask message;
    Table& table = *message.mutable_table();
    table = std::move(gathering.tables[to]);
    table.set_key(share.key());
    if (has_values) {
      for (const Gathering::Rank& from : gathering.ranks) table.add_values(from.value);
    }
    const Member& member = members_[static_cast<std::size_t>(gathering.ranks[to].task)];
    if (member.send) member.send(message);
  }
  gatherings_.erase(share.key());
}

}  // namespace mirrortrain::rpc
