#include "collective/call_barrier.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"

namespace mirrortrain {

bool CollectiveCall::fits(const CollectiveCall& other) const {
  return operation == other.operation && elements.count == other.elements.count &&
         elements.dtype == other.elements.dtype && from == other.from;
}

std::string CollectiveCall::text() const {
  constexpr std::array kNames = {"all_reduce", "all_gather", "all_to_all", "transfer"};  // in the order of Operation
  const std::string what = elements.what.empty() ? "" : fmt::format(" ({})", elements.what);
  const std::string sender = operation == Operation::kTransfer ? fmt::format(" from rank {}", from) : "";
  return fmt::format("{} of {} {} elements{}{}", kNames[static_cast<std::size_t>(operation)], elements.count,
                     name_of(elements.dtype), sender, what);
}

CallBarrier::CallBarrier(std::size_t ranks, bool spin, double timeout_seconds)
    : calls_(ranks), barrier_(static_cast<int>(ranks), spin, timeout_seconds) {}

void CallBarrier::read_elements(int rank, std::span<std::byte*> elements) const {
  const CollectiveCall& own = calls_[static_cast<std::size_t>(rank)];
  for (std::size_t other = 0; other < calls_.size(); ++other) {
    const CollectiveCall& theirs = calls_[other];
    if (!own.fits(theirs)) {
      throw Error(fmt::format("rank {} does {}, but rank {} does {}", rank, own.text(), other, theirs.text()));
    }
    elements[other] = theirs.elements.data;
  }
}

void CallBarrier::fail(const std::string& text) {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.empty()) failure_ = text;
  barrier_.abort(text);
}

void CallBarrier::throw_if_failed() {
  if (!barrier_.aborted()) return;
  const std::lock_guard lock(failure_mutex_);
  if (!failure_.empty()) throw Error(failure_);
  barrier_.throw_if_aborted();
}

}  // namespace mirrortrain
