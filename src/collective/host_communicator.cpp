#include "collective/host_communicator.h"

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// gloo creates its exceptions on its own threads, which ThreadSanitizer does not see: tests/thread-sanitizer.txt.
std::string message_of_exception(const std::exception& error) { return error.what(); }

}  // namespace

HostCommunicator::HostCommunicator(int rank, int size, OperationWatch watch)
    : rank_(rank), size_(size), watch_(std::move(watch)) {
  for (Slot& slot : slots_) slot.owner = this;
}

void HostCommunicator::transfer(Stream& stream, Elements elements, int from) {
  require_pair(*this, elements, from);
  enqueue(stream, {CollectiveCall::Operation::kTransfer, elements, nullptr, from});
}

void HostCommunicator::check() {
  if (!has_failed()) return;
  const std::scoped_lock lock(mutex_);
  throw Error(failure_);
}

void HostCommunicator::synchronize(Stream& stream) {
  stream.synchronize();  // always returns: operations have a timeout
  check();
}

void HostCommunicator::abort(const std::string& reason) {
  fail(reason);
  interrupt(reason);
}

void HostCommunicator::fail(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  if (failed_) return;
  failure_ = reason;
  failed_.store(true, std::memory_order_release);
}

void HostCommunicator::enqueue(Stream& stream, const CollectiveCall& call) {
  check();
  if (size_ == 1) return;
  const auto start = std::chrono::steady_clock::now();
  Slot& slot = slots_[next_++ % slots_.size()];
  while (slot.taken.load(std::memory_order_acquire)) std::this_thread::sleep_for(std::chrono::microseconds(20));
  slot.taken.store(true, std::memory_order_relaxed);
  slot.call = call;
  stream.call(
      [](void* argument) {
        Slot& enqueued = *static_cast<Slot*>(argument);
        enqueued.owner->run(enqueued.call);
        enqueued.taken.store(false, std::memory_order_release);
      },
      &slot);
  waited_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  check();  // an inline stream has already run it
}

/// Runs on the stream's thread, where an exception could not be caught: the reason is stored and thrown by the next
/// call.
void HostCommunicator::run(const CollectiveCall& call) {
  if (has_failed()) return;
  try {
    if (watch_.begin) watch_.begin(call.elements.what);
    perform(call);
    if (watch_.end) watch_.end();
    return;
  } catch (const std::exception& error) {
    // If the group was aborted meanwhile, that is the reason and this error its consequence.
    const std::string message = message_of_exception(error);
    if (!has_failed()) fail(explained(message, error));
  } catch (...) {
    fail("an operation failed for an unknown reason");
  }
  try {
    if (watch_.end) watch_.end();
  } catch (...) {  // only the first error is reported
  }
}

std::string HostCommunicator::explained(const std::string& message, const std::exception& error) const {
  try {
    return watch_.explained(message, error);
  } catch (...) {
    return message;
  }
}

}  // namespace mirrortrain
