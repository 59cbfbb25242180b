#include "collective/gloo/gloo_communicator.h"

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>
#include <gloo/types.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "collective/gloo/connect_peers.h"
#include "collective/gloo/direct_exchange.h"
#include "collective/gloo/doubling_exchange.h"
#include "collective/gloo/eager_exchange.h"
#include "collective/gloo/slots.h"
#include "collective/gloo/small_message.h"
#include "collective/host_communicator.h"

namespace mirrortrain {
namespace {

template <class T>
void add(void* to, const void* a, const void* b, std::size_t count) {
  auto* const sum = static_cast<T*>(to);
  const auto *const left = static_cast<const T*>(a), *const right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

class GlooCommunicator : public HostCommunicator {
 public:
  GlooCommunicator(const GlooOptions& options, const RendezvousStore& rendezvous, OperationWatch watch)
      : HostCommunicator(options.rank, options.size, std::move(watch)), options_(options), rendezvous_(rendezvous) {
    // gloo writes to sockets as to files: if the peer died, SIGPIPE would silently kill this process.
    ::signal(SIGPIPE, SIG_IGN);
    if (options.size == 1) return;
    if (options.size <= options.most_direct_ranks) {
      connect_directly();
      return;
    }
    context_ = connect_peers("gloo", peers_by_doubling(options.rank, options.size), options, rendezvous);
    doubling_.emplace(*context_, options.rank, options.size);
  }

 protected:
  void perform(const CollectiveCall& call) override {
    const Elements& elements = call.elements;
    if (elements.dtype == DType::kBfloat16 && call.operation == CollectiveCall::Operation::kAllReduce) {
      throw Error(fmt::format("{}: no sums of bfloat16", elements.what));
    }
    switch (elements.dtype) {
      case DType::kBfloat16: return perform_as<std::uint16_t>(call);  // which is only copied
      case DType::kFloat32: return perform_as<float>(call);
      case DType::kFloat64: return perform_as<double>(call);
      case DType::kInt32: return perform_as<std::int32_t>(call);
      case DType::kInt64: return perform_as<std::int64_t>(call);
      default: throw Error(fmt::format("{}: no operation on {}", elements.what, name_of(elements.dtype)));
    }
  }

  /// When an operation times out, gloo closes every connection and fails the operations waiting on it: so this lets one
  /// time out that has no sender.
  void interrupt(const std::string&) override {
    const std::scoped_lock lock(connecting_);
    interrupt(context_);
    if (direct_context_ != context_) interrupt(direct_context_);
  }

 private:
  void interrupt(const std::shared_ptr<gloo::Context>& context) const {
    if (!context) return;
    try {
      char nothing = 0;
      const auto unanswered = context->createUnboundBuffer(&nothing, 1);
      unanswered->recv((rank() + 1) % size(), kUnansweredSlot);
      unanswered->waitRecv(std::chrono::milliseconds(1));
    } catch (const std::exception&) {  // as intended
    }
  }

  void connect_directly() {
    std::shared_ptr<gloo::Context> context =
        connect_peers("gloo with all", all_peers(rank(), size()), options_, rendezvous_);
    direct_.emplace(*context, rank(), size());
    const std::scoped_lock lock(connecting_);
    direct_context_ = std::move(context);
    if (!context_) context_ = direct_context_;
  }

  /// Connections to all others. Of many ranks only an all_to_all needs them, and the first one makes them.
  EagerExchange& direct() {
    if (!direct_) connect_directly();
    check();
    return *direct_;
  }

  /// Every rank gets the small message of each.
  void share(const CollectiveCall& call, const std::byte* message, std::size_t bytes) {
    if (doubling_) return doubling_->exchange(call, message, bytes);
    direct_->exchange(call, message, bytes);
  }
  const std::byte* shared_by(int other) const { return doubling_ ? doubling_->from(other) : direct_->from(other); }

  template <class T>
  void perform_as(const CollectiveCall& call) {
    if (call.operation == CollectiveCall::Operation::kAllReduce) {
      if (is_small_message(call.elements.bytes(), size())) return add_at_once<T>(call);
      if (doubling_) return add_around<T>(call.elements);
      add_directly(*direct_context_, call.elements, add<T>, received_, next_slot(gloo::kAllreduceSlotPrefix));
    } else if (call.operation == CollectiveCall::Operation::kAllToAll) {
      deal(call);
    } else if (call.operation == CollectiveCall::Operation::kTransfer) {
      direct();
      send(*direct_context_, call.elements, call.from, next_slot(gloo::kBroadcastSlotPrefix));
    } else {
      gather(call);
    }
  }

  std::uint64_t next_slot(std::uint8_t prefix) { return gloo::Slot::build(prefix, tag_++); }

  /// Every rank gets all elements of the others and adds them in rank order: one delay of the network, or a few for
  /// many ranks.
  template <class T>
  void add_at_once(const CollectiveCall& call) {
    const Elements& elements = call.elements;
    if (elements.count == 0) return;
    share(call, elements.data, elements.bytes());
    const std::size_t count = elements.count;
    const auto part = [&](int of) { return of == rank() ? elements.data : shared_by(of); };
    alignas(64) std::array<std::byte, largest_small_message(2)> sum;
    std::memcpy(sum.data(), part(0), elements.bytes());
    for (int other = 1; other < size(); ++other) add<T>(sum.data(), sum.data(), part(other), count);
    std::memcpy(elements.data, sum.data(), elements.bytes());
  }

  /// Around gloo's ring, where each part begins at another rank.
  template <class T>
  void add_around(const Elements& elements) {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(reinterpret_cast<T*>(elements.data), elements.count);
    options.setReduceFunction(add<T>);
    options.setTag(tag_++);
    gloo::allreduce(options);
  }

  std::size_t part_bytes(const CollectiveCall& call) const {
    return call.elements.bytes() / static_cast<std::size_t>(size());
  }

  void gather(const CollectiveCall& call) {
    std::byte* const data = call.elements.data;
    const std::size_t bytes = part_bytes(call);
    const auto place = [&](int part) { return data + static_cast<std::size_t>(part) * bytes; };
    if (is_small_message(bytes, size())) {
      share(call, place(rank()), bytes);
      for_others([&](int other) { std::memcpy(place(other), shared_by(other), bytes); });
    } else if (doubling_) {
      gather_by_doubling(*context_, data, bytes, next_slot(gloo::kAllgatherSlotPrefix));
    } else {
      exchange_parts(
          *direct_context_, data, data, bytes, [this](int) { return rank(); }, next_slot(gloo::kAllgatherSlotPrefix));
    }
  }

  void deal(const CollectiveCall& call) {
    std::byte* const data = call.elements.data;
    const std::size_t bytes = part_bytes(call);
    const auto offset = [&](int part) { return static_cast<std::size_t>(part) * bytes; };
    EagerExchange& all = direct();
    std::memcpy(call.received + offset(rank()), data + offset(rank()), bytes);
    if (!is_small_message(bytes, size())) {
      return exchange_parts(
          *direct_context_, data, call.received, bytes, [](int other) { return other; },
          next_slot(gloo::kAlltoallSlotPrefix));
    }
    all.exchange_parts(call, data, bytes);
    for_others([&](int other) { std::memcpy(call.received + offset(other), all.from(other), bytes); });
  }

  const GlooOptions options_;
  const RendezvousStore rendezvous_;
  std::mutex connecting_;
  std::shared_ptr<gloo::Context> context_;         ///< of all operations but all_to_all
  std::shared_ptr<gloo::Context> direct_context_;  ///< with connections to all; of few ranks the same
  std::optional<EagerExchange> direct_;            ///< after the contexts, which they use
  std::optional<DoublingExchange> doubling_;       ///< of many ranks
  std::vector<std::byte> received_;                ///< scratch memory of direct sums
  std::uint32_t tag_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_gloo_communicator(const GlooOptions& options, const RendezvousStore& rendezvous,
                                                     OperationWatch watch) {
  try {
    return std::make_unique<GlooCommunicator>(options, rendezvous, watch);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string why = fmt::format("rank {} of {} at {} cannot connect to the others: {}", options.rank,
                                        options.size, options.host, error.what());
    throw Error(watch.explained(why, error));
  }
}

std::string why_no_gloo() { return ""; }

}  // namespace mirrortrain
