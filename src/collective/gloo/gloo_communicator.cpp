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
#include "collective/gloo/doubling_exchange.h"
#include "collective/gloo/eager_exchange.h"
#include "collective/gloo/mesh.h"
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
  GlooCommunicator(const GlooOptions& options, const RendezvousStore& meeting, OperationWatch watch)
      : HostCommunicator(options.rank, options.size, std::move(watch)), options_(options), meeting_(meeting) {
    // gloo writes to sockets as to files: if the peer died, SIGPIPE would silently kill this process.
    ::signal(SIGPIPE, SIG_IGN);
    if (options.size == 1) return;
    if (options.size <= options.most_direct_ranks) {
      connect_directly();
      return;
    }
    context_ = connect_mesh("gloo", peers_by_doubling(options.rank, options.size), options, meeting);
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
        connect_mesh("gloo with all", all_peers(rank(), size()), options_, meeting_);
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
    auto* const data = reinterpret_cast<T*>(call.elements.data);
    const std::size_t count = call.elements.count;
    if (call.operation == CollectiveCall::Operation::kAllReduce) {
      if (is_small_message(call.elements.bytes(), size())) return add_at_once<T>(call);
      if (size() == 2) return add_other<T>(call.elements);
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setOutput(data, count);
      options.setReduceFunction(add<T>);
      options.setTag(tag_++);
      gloo::allreduce(options);
    } else if (call.operation == CollectiveCall::Operation::kAllToAll) {
      deal(call);
    } else {
      gather(call);
    }
  }

  /// Every rank gets all elements of the others and adds them in rank order: one delay of the network, or a few for
  /// many ranks, whereas gloo's ring has 4 for each other rank.
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

  /// Two ranks send each other all elements: as many bytes as in a ring, in half of its delays.
  template <class T>
  void add_other(const Elements& elements) {
    const int other = 1 - rank();
    if (others_.size() < elements.bytes()) others_.resize(elements.bytes());
    const std::uint64_t slot = gloo::Slot::build(gloo::kAllreduceSlotPrefix, tag_++);
    const auto to = context_->createUnboundBuffer(others_.data(), elements.bytes());
    const auto from = context_->createUnboundBuffer(elements.data, elements.bytes());
    to->recv(other, slot);
    from->send(other, slot);
    to->waitRecv(context_->getTimeout());
    from->waitSend(context_->getTimeout());  // before the sum takes the place of what is sent
    const std::byte* const first = rank() == 0 ? elements.data : others_.data();
    const std::byte* const second = rank() == 0 ? others_.data() : elements.data;
    add<T>(elements.data, first, second, elements.count);
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
      gather_by_doubling(*context_, data, bytes, gloo::Slot::build(gloo::kAllgatherSlotPrefix, tag_++));
    } else {
      exchange_parts(call, data, [this](int) { return rank(); });
    }
  }

  void deal(const CollectiveCall& call) {
    const std::byte* const data = call.elements.data;
    const std::size_t bytes = part_bytes(call);
    const auto offset = [&](int part) { return static_cast<std::size_t>(part) * bytes; };
    EagerExchange& all = direct();
    std::memcpy(call.received + offset(rank()), data + offset(rank()), bytes);
    if (!is_small_message(bytes, size())) return exchange_parts(call, call.received, [](int other) { return other; });
    all.exchange_parts(call, data, bytes);
    for_others([&](int other) { std::memcpy(call.received + offset(other), all.from(other), bytes); });
  }

  /// Every other rank receives the part `sent_to(rank)` of the elements. Receives are posted before sends: otherwise
  /// gloo's notification of a receive would queue behind the data, and one direction would wait for the other. gloo's
  /// own alltoall and allgather take 2 and 1.5 times as long between two ranks.
  template <class SentTo>
  void exchange_parts(const CollectiveCall& call, std::byte* received, const SentTo& sent_to) {
    const Elements& elements = call.elements;
    const std::size_t bytes = part_bytes(call);
    const auto place = [bytes](int part) { return static_cast<std::size_t>(part) * bytes; };
    gloo::Context& context = *direct_context_;
    const std::uint64_t slot = gloo::Slot::build(gloo::kAlltoallSlotPrefix, tag_++);
    const auto from = context.createUnboundBuffer(elements.data, elements.bytes());
    const auto to = context.createUnboundBuffer(received, elements.bytes());
    for_others([&](int other) { to->recv(other, slot, place(other), bytes); });
    for_others([&](int other) { from->send(other, slot, place(sent_to(other)), bytes); });
    // Receives first: gloo does not wake a send that was half done when the connection ended.
    for_others([&](int) { to->waitRecv(context.getTimeout()); });
    for_others([&](int) { from->waitSend(context.getTimeout()); });
  }

  template <class Work>
  void for_others(const Work& work) const {
    for (int step = 1; step < size(); ++step) work((rank() + step) % size());
  }

  const GlooOptions options_;
  const RendezvousStore meeting_;
  std::mutex connecting_;
  std::shared_ptr<gloo::Context> context_;         ///< of all operations but all_to_all
  std::shared_ptr<gloo::Context> direct_context_;  ///< with connections to all; of few ranks the same
  std::optional<EagerExchange> direct_;            ///< after the contexts, which they use
  std::optional<DoublingExchange> doubling_;       ///< of many ranks
  std::vector<std::byte> others_;                  ///< of two ranks, the other one's elements
  std::uint32_t tag_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_gloo_communicator(const GlooOptions& options, const RendezvousStore& meeting,
                                                     OperationWatch watch) {
  try {
    return std::make_unique<GlooCommunicator>(options, meeting, watch);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string why = fmt::format("rank {} of {} at {} cannot connect to the others: {}", options.rank,
                                        options.size, options.host, error.what());
    const auto* const unreachable = dynamic_cast<const Unreachable*>(&error);
    const std::vector<int> unreached = unreachable != nullptr ? unreachable->ranks : std::vector<int>();
    throw Error(watch.explain ? watch.explain(why, unreached) : why);
  }
}

std::string why_no_gloo() { return ""; }

}  // namespace mirrortrain
