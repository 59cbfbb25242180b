#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>

#include "collective/call_barrier.h"
#include "collective/communicator.h"
#include "collective/other_ranks.h"
#include "collective/process_group.h"

namespace mirrortrain {

/// A rank whose operations run on the host thread that the stream calls: on a CPU's inline stream before the operation
/// returns. Derived classes implement the operations; this class tracks operations in flight and the first failure,
/// which fails all later ones.
class HostCommunicator : public Communicator {
 public:
  HostCommunicator(int rank, int size, OperationWatch watch = {});

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(Stream& stream, Elements elements) override {
    enqueue(stream, {CollectiveCall::Operation::kAllReduce, elements});
  }
  void all_gather(Stream& stream, Elements elements) override {
    enqueue(stream, {CollectiveCall::Operation::kAllGather, elements});
  }
  void all_to_all(Stream& stream, Elements elements, std::byte* received) override {
    if (size_ == 1) return stream.copy(received, elements.data, elements.bytes());
    enqueue(stream, {CollectiveCall::Operation::kAllToAll, elements, received});
  }
  void transfer(Stream& stream, Elements elements, int from) override;
  double waited_seconds() const override { return waited_seconds_; }
  void check() override;
  void synchronize(Stream& stream) override;
  void abort(const std::string& reason) override;

 protected:
  /// Takes part in the operation and returns when it is done. Throws Error where it fails.
  virtual void perform(const CollectiveCall& call) = 0;
  /// Makes current and later calls of `perform` end soon, on any thread.
  virtual void interrupt(const std::string& reason) = 0;

  /// Each rank starts with the following rank, so that not all send to the same one first.
  template <class Function>
  void for_others(const Function& function) const {
    mirrortrain::for_others(rank_, size_, function);
  }

  bool has_failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  /// An operation in flight on a stream.
  struct Slot {
    HostCommunicator* owner = nullptr;
    CollectiveCall call;
    std::atomic<bool> taken = false;
  };
  void enqueue(Stream& stream, const CollectiveCall& call);
  void run(const CollectiveCall& call);
  std::string explained(const std::string& message, const std::exception& error) const;
  void fail(const std::string& reason);

  const int rank_, size_;
  const OperationWatch watch_;
  std::array<Slot, kMostAhead> slots_;
  std::size_t next_ = 0;
  double waited_seconds_ = 0;  ///< in `enqueue`
  std::mutex mutex_;
  std::string failure_;
  std::atomic<bool> failed_ = false;
};

}  // namespace mirrortrain
