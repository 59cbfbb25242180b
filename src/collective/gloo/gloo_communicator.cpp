#include "collective/gloo/gloo_communicator.h"

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/types.h>
#include <signal.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "collective/host_communicator.h"

namespace mirrortrain {
namespace {

/// gloo has no waiting without end.
constexpr std::chrono::hours kNoLimit{24 * 365};
/// Of no operation: theirs have a number in the upper half too.
constexpr std::uint64_t kUnansweredSlot = 1;

std::chrono::milliseconds milliseconds(double seconds) {
  if (seconds <= 0) return kNoLimit;
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

/// gloo's way to hand out addresses, over the meeting point.
class Store : public gloo::rendezvous::Store {
 public:
  explicit Store(const MeetingPoint& meeting) : meeting_(meeting) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    meeting_.put("gloo/" + key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = meeting_.get("gloo/" + key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>&) override {}  // `get` does

 private:
  const MeetingPoint& meeting_;
};

template <class T>
void add(void* to, const void* a, const void* b, std::size_t count) {
  auto* const sum = static_cast<T*>(to);
  const auto *const left = static_cast<const T*>(a), *const right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

class GlooCommunicator : public HostCommunicator {
 public:
  GlooCommunicator(const GlooOptions& options, const MeetingPoint& meeting, OperationWatch watch)
      : HostCommunicator(options.rank, options.size, std::move(watch)),
        context_(std::make_shared<gloo::rendezvous::Context>(options.rank, options.size)) {
    context_->setTimeout(milliseconds(options.timeout_seconds));
    if (options.size == 1) return;
    // gloo writes to sockets as to files: where the other end died, the system would end this process without a word.
    ::signal(SIGPIPE, SIG_IGN);
    gloo::transport::tcp::attr attributes;
    attributes.hostname = options.host;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    Store store(meeting);
    context_->connectFullMesh(store, device);
  }

 protected:
  void perform(const CollectiveCall& call) override {
    const Elements& elements = call.elements;
    if (elements.dtype == DType::kBfloat16 && call.operation == CollectiveCall::Operation::kAllReduce) {
      throw Error(fmt::format("{}: no sums of bfloat16", elements.what));
    }
    switch (elements.dtype) {
      case DType::kBfloat16: return perform_as<std::uint16_t>(call);  // which is only carried
      case DType::kFloat32: return perform_as<float>(call);
      case DType::kFloat64: return perform_as<double>(call);
      case DType::kInt32: return perform_as<std::int32_t>(call);
      case DType::kInt64: return perform_as<std::int64_t>(call);
      default: throw Error(fmt::format("{}: no operation on {}", elements.what, name_of(elements.dtype)));
    }
  }

  /// gloo closes every connection, and ends what waits on one, when some operation times out: so here one does, which
  /// nobody answers.
  void interrupt(const std::string&) override {
    if (size() == 1) return;
    try {
      char nothing = 0;
      const auto unanswered = context_->createUnboundBuffer(&nothing, 1);
      unanswered->recv((rank() + 1) % size(), kUnansweredSlot);
      unanswered->waitRecv(std::chrono::milliseconds(1));
    } catch (const std::exception&) {  // as it should
    }
  }

 private:
  template <class T>
  void perform_as(const CollectiveCall& call) {
    auto* const data = reinterpret_cast<T*>(call.elements.data);
    const std::size_t count = call.elements.count;
    if (call.operation == CollectiveCall::Operation::kAllReduce) {
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setOutput(data, count);
      options.setReduceFunction(add<T>);
      options.setTag(tag_++);
      gloo::allreduce(options);
    } else if (call.operation == CollectiveCall::Operation::kAllToAll) {
      exchange_parts(call.elements, call.received, [](int other) { return other; });
    } else {
      exchange_parts(call.elements, call.elements.data, [this](int) { return rank(); });
    }
  }

  /// Every other rank gets the part `sent_to(rank)` of the elements, and its own comes to its place in `received`. Who
  /// receives says so before it sends: gloo's message about it would wait behind what is sent, and one direction for the
  /// other. gloo's own alltoall and allgather take 2 and 1.5 times as long between two ranks.
  template <class SentTo>
  void exchange_parts(const Elements& elements, std::byte* received, const SentTo& sent_to) {
    const std::size_t bytes = elements.bytes() / static_cast<std::size_t>(size());
    const auto place = [bytes](int part) { return static_cast<std::size_t>(part) * bytes; };
    const std::uint64_t slot = gloo::Slot::build(gloo::kAlltoallSlotPrefix, tag_++);
    const auto from = context_->createUnboundBuffer(elements.data, elements.bytes());
    const auto to = context_->createUnboundBuffer(received, elements.bytes());
    for_others([&](int other) { to->recv(other, slot, place(other), bytes); });
    for_others([&](int other) { from->send(other, slot, place(sent_to(other)), bytes); });
    if (received != elements.data) std::memcpy(received + place(rank()), elements.data + place(rank()), bytes);
    for_others([&](int) {
      from->waitSend(context_->getTimeout());
      to->waitRecv(context_->getTimeout());
    });
  }

  /// Each rank begins with the next one, so that not all send to the same one first.
  template <class Function>
  void for_others(const Function& function) const {
    for (int step = 1; step < size(); ++step) function((rank() + step) % size());
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::uint32_t tag_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_gloo_communicator(const GlooOptions& options, const MeetingPoint& meeting,
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
