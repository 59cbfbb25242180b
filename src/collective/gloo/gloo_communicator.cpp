#include "collective/gloo/gloo_communicator.h"

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
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
#include "collective/gloo/eager_exchange.h"
#include "collective/gloo/reach_peers.h"
#include "collective/gloo/small_message.h"
#include "collective/host_communicator.h"

namespace mirrortrain {
namespace {

/// gloo does not support an infinite timeout.
constexpr std::chrono::hours kNoLimit{24 * 365};
/// Not slots of operations, which also have a number in the upper half.
constexpr std::uint64_t kUnansweredSlot = 1, kGreetingSlot = 2;

std::chrono::milliseconds milliseconds(double seconds) {
  if (seconds <= 0) return kNoLimit;
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// Gloo's key-value store for addresses, backed by the rendezvous store.
class Store : public gloo::rendezvous::Store {
 public:
  Store(const RendezvousStore& meeting, std::string prefix) : meeting_(meeting), prefix_(std::move(prefix)) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    meeting_.put(prefix_ + key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = meeting_.get(prefix_ + key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>&) override {}  // `get` does

 private:
  const RendezvousStore& meeting_;
  const std::string prefix_;
};

/// Connects all ranks. gloo accepts the first connection to a port that it has just opened for a rank, even from a port
/// scanner, so that the rank is refused or its connection closed: then all ranks start over with other ports.
class Mesh {
 public:
  Mesh(const GlooOptions& options, const RendezvousStore& meeting) : options_(options), meeting_(meeting) {}

  std::shared_ptr<gloo::rendezvous::Context> connect() {
    // Open until the first barrier below.
    Descriptor reached = reach_peers(options_.rank, options_.size, options_.host, options_.timeout_seconds, meeting_);
    gloo::transport::tcp::attr attributes;
    attributes.hostname = options_.host;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    // Never destroyed: an outside connection may hold the device until after the communicator is destroyed, and newer
    // gloo would then join the device's thread from that thread itself, which terminates the process.
    static auto* const devices = new std::vector<std::shared_ptr<gloo::transport::Device>>;
    static std::mutex devices_mutex;
    {
      const std::scoped_lock lock(devices_mutex);
      devices->push_back(device);
    }
    for (int attempt = 1;; ++attempt) {
      const std::string prefix = fmt::format("gloo/{}/", attempt);
      agree(prefix + "begins/", "");  // a barrier, so that nothing below waits for a rank that starts late
      reached.close();
      auto context = std::make_shared<gloo::rendezvous::Context>(options_.rank, options_.size);
      context->setTimeout(kConnect);
      const std::string made = agree(prefix + "made/", error_of([&] {
                                       Store store(meeting_, prefix);
                                       context->connectFullMesh(store, device);
                                     }));
      const std::string error = made.empty() ? agree(prefix + "tried/", error_of([&] { greet(*context); })) : made;
      context->setTimeout(milliseconds(options_.timeout_seconds));
      if (error.empty()) return context;
      if (attempt == kAttempts) throw std::runtime_error(error);
    }
  }

 private:
  static constexpr int kAttempts = 5;
  static constexpr std::chrono::seconds kConnect{10};

  template <class Work>
  static std::string error_of(const Work& work) {
    try {
      work();
    } catch (const Error&) {  // another task has failed
      throw;
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  /// Exchanges the ranks' errors, empty if none; returns this rank's own, or the first of the others.
  std::string agree(const std::string& key, const std::string& own) const {
    meeting_.put(key + std::to_string(options_.rank), own);
    std::string first = own;
    for (int rank = 0; rank < options_.size; ++rank) {
      if (rank == options_.rank) continue;
      const std::string error = meeting_.get(key + std::to_string(rank));
      if (first.empty()) first = error;
    }
    return first;
  }

  /// Checks that the peer of each connection is the expected rank.
  void greet(gloo::Context& context) const {
    std::vector<int> ranks(static_cast<std::size_t>(options_.size), -1);
    int own = options_.rank;
    const auto to = context.createUnboundBuffer(&own, sizeof(int));
    const auto from = context.createUnboundBuffer(ranks.data(), ranks.size() * sizeof(int));
    const auto for_others = [this](const auto& work) {
      for (int rank = 0; rank < options_.size; ++rank) {
        if (rank != options_.rank) work(rank);
      }
    };
    for_others([&](int rank) {
      from->recv(rank, kGreetingSlot, static_cast<std::size_t>(rank) * sizeof(int), sizeof(int));
      to->send(rank, kGreetingSlot);
    });
    for_others([&](int) {
      to->waitSend(kConnect);
      from->waitRecv(kConnect);
    });
    for_others([&](int rank) {
      if (ranks[static_cast<std::size_t>(rank)] != rank) throw std::runtime_error("another answers");
    });
  }

  const GlooOptions& options_;
  const RendezvousStore& meeting_;
};

template <class T>
void add(void* to, const void* a, const void* b, std::size_t count) {
  auto* const sum = static_cast<T*>(to);
  const auto *const left = static_cast<const T*>(a), *const right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

class GlooCommunicator : public HostCommunicator {
 public:
  GlooCommunicator(const GlooOptions& options, const RendezvousStore& meeting, OperationWatch watch)
      : HostCommunicator(options.rank, options.size, std::move(watch)) {
    // gloo writes to sockets as to files: if the peer died, SIGPIPE would silently kill this process.
    ::signal(SIGPIPE, SIG_IGN);
    context_ = options.size == 1 ? std::make_shared<gloo::rendezvous::Context>(options.rank, options.size)
                                 : Mesh(options, meeting).connect();
    if (options.size > 1) small_.emplace(*context_, options.rank, options.size);
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
    if (size() == 1) return;
    try {
      char nothing = 0;
      const auto unanswered = context_->createUnboundBuffer(&nothing, 1);
      unanswered->recv((rank() + 1) % size(), kUnansweredSlot);
      unanswered->waitRecv(std::chrono::milliseconds(1));
    } catch (const std::exception&) {  // as intended
    }
  }

 private:
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
      exchange_parts(call, call.received, [](int other) { return other; });
    } else {
      exchange_parts(call, call.elements.data, [this](int) { return rank(); });
    }
  }

  /// Every rank gets all elements of the others and adds them in rank order: one delay of the network, whereas gloo's
  /// ring has 4 for each other rank.
  template <class T>
  void add_at_once(const CollectiveCall& call) {
    const Elements& elements = call.elements;
    if (elements.count == 0) return;
    small_->exchange(call, elements.bytes(), [&](int) { return elements.data; });
    const std::size_t count = elements.count;
    const auto part = [&](int of) { return of == rank() ? elements.data : small_->from(of); };
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

  /// Every other rank receives the part `sent_to(rank)` of the elements, and its own part is stored at its place in
  /// `received`. Receives are posted before sends: otherwise gloo's notification of a receive would queue behind the
  /// data, and one direction would wait for the other. gloo's own alltoall and allgather take 2 and 1.5 times as long
  /// between two ranks.
  template <class SentTo>
  void exchange_parts(const CollectiveCall& call, std::byte* received, const SentTo& sent_to) {
    const Elements& elements = call.elements;
    const std::size_t bytes = elements.bytes() / static_cast<std::size_t>(size());
    const auto place = [bytes](int part) { return static_cast<std::size_t>(part) * bytes; };
    if (received != elements.data) std::memcpy(received + place(rank()), elements.data + place(rank()), bytes);
    if (is_small_message(bytes, size())) {
      small_->exchange(call, bytes, [&](int other) { return elements.data + place(sent_to(other)); });
      for_others([&](int other) { std::memcpy(received + place(other), small_->from(other), bytes); });
      return;
    }
    const std::uint64_t slot = gloo::Slot::build(gloo::kAlltoallSlotPrefix, tag_++);
    const auto from = context_->createUnboundBuffer(elements.data, elements.bytes());
    const auto to = context_->createUnboundBuffer(received, elements.bytes());
    for_others([&](int other) { to->recv(other, slot, place(other), bytes); });
    for_others([&](int other) { from->send(other, slot, place(sent_to(other)), bytes); });
    // Receives first: gloo does not wake a send that was half done when the connection ended.
    for_others([&](int) { to->waitRecv(context_->getTimeout()); });
    for_others([&](int) { from->waitSend(context_->getTimeout()); });
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::optional<EagerExchange> small_;  ///< after the context, which it uses
  std::vector<std::byte> others_;       ///< of two ranks, the other one's elements
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
    throw Error(watch.explain ? watch.explain(why) : why);
  }
}

std::string why_no_gloo() { return ""; }

}  // namespace mirrortrain
