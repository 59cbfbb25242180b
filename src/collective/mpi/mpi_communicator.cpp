#include "collective/mpi/mpi_communicator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <numeric>
#include <vector>

#include "collective/host_communicator.h"
#include "collective/mpi/exchange.h"
#include "collective/stage_work.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

/// Up to this many bytes, each rank sends all its elements to every rank at once.
constexpr std::size_t kFewBytes = 16 << 10;

class MpiCommunicator : public HostCommunicator {
 public:
  /// `members`: MPI's ranks of the group.
  MpiCommunicator(const std::shared_ptr<mpi::Session>& session, double timeout_seconds, OperationWatch watch,
                  std::vector<int> members)
      : HostCommunicator(static_cast<int>(std::ranges::find(members, session->rank()) - members.begin()),
                         static_cast<int>(members.size()), std::move(watch)),
        terms_(members.size()),
        exchange_(session, timeout_seconds, std::move(members)) {}

  std::size_t bytes() const override { return received_.bytes(); }
  void check() override {
    HostCommunicator::check();
    exchange_.throw_if_failed();  // if another rank failed
  }

 protected:
  void perform(const CollectiveCall& call) override {
    try {
      take_part(call);
    } catch (const std::exception& error) {
      exchange_.fail(error.what());
      throw;
    }
  }
  void interrupt(const std::string& reason) override { exchange_.fail(reason); }

 private:
  void take_part(const CollectiveCall& call) {
    exchange_.begin(call);
    const Elements& elements = call.elements;
    if (call.operation == CollectiveCall::Operation::kAllGather) {
      const std::size_t part = elements.count / static_cast<std::size_t>(size());
      const auto part_of = [&](int of) {
        return Shard{static_cast<std::size_t>(of) * part, (static_cast<std::size_t>(of) + 1) * part};
      };
      hand_out(elements, part_of);
    } else if (call.operation == CollectiveCall::Operation::kAllToAll) {
      deal(elements, call.received);
    } else if (call.operation == CollectiveCall::Operation::kTransfer) {
      send(elements, call.from);
    } else if (elements.bytes() <= kFewBytes) {
      sum(elements, {0, elements.count}, [&](int) { return Shard{0, elements.count}; });
    } else {
      const auto shard = [&](int of) { return shard_of(elements.count, of, size()); };
      sum(elements, shard(rank()), shard);
      hand_out(elements, shard);
    }
  }

  /// Sums all ranks' elements in `own`: every rank sends the shard `wanted(r)` to rank r.
  template <class Wanted>
  void sum(const Elements& elements, Shard own, const Wanted& wanted) {
    const std::size_t item = size_of(elements.dtype);
    const std::size_t slot = (own.size() * item + 63) / 64 * 64;
    reserve(slot * static_cast<std::size_t>(size()));
    for_others([&](int other) {
      std::byte* const to = received_.data() + static_cast<std::size_t>(other) * slot;
      terms_[static_cast<std::size_t>(other)] = to;
      exchange_.receive(other, to, own.size());
    });
    for_others([&](int other) {
      const Shard shard = wanted(other);
      exchange_.send(other, elements.data + shard.begin * item, shard.size());
    });
    exchange_.finish();
    std::byte* const total = elements.data + own.begin * item;
    terms_[static_cast<std::size_t>(rank())] = total;
    const std::array<std::byte*, 1> to = {total};
    shared_memory_work().combine(AggregationMethod::kAddN, elements.dtype, terms_, to, {0, own.size()});
  }

  /// Every rank sends part r to rank r.
  void deal(const Elements& elements, std::byte* received) {
    const std::size_t part = elements.count / static_cast<std::size_t>(size());
    const std::size_t bytes = part * size_of(elements.dtype);
    const auto place = [&](int of) { return static_cast<std::size_t>(of) * bytes; };
    for_others([&](int other) { exchange_.receive(other, received + place(other), part); });
    for_others([&](int other) { exchange_.send(other, elements.data + place(other), part); });
    exchange_.finish();
    std::memcpy(received + place(rank()), elements.data + place(rank()), bytes);
  }

  void send(const Elements& elements, int from) {
    if (rank() == from) {
      exchange_.send(1 - from, elements.data, elements.count);
    } else {
      exchange_.receive(from, elements.data, elements.count);
    }
    exchange_.finish();
  }

  /// Every rank receives `part_of(r)` from rank r.
  template <class PartOf>
  void hand_out(const Elements& elements, const PartOf& part_of) {
    const std::size_t item = size_of(elements.dtype);
    for_others([&](int other) {
      const Shard part = part_of(other);
      exchange_.receive(other, elements.data + part.begin * item, part.size());
    });
    const Shard own = part_of(rank());
    for_others([&](int other) { exchange_.send(other, elements.data + own.begin * item, own.size()); });
    exchange_.finish();
  }

  /// Receive buffer, as large as the largest operation so far needs.
  void reserve(std::size_t bytes) {
    if (received_.bytes() < bytes) received_ = allocate_host_memory(bytes);
  }

  Buffer received_;
  std::vector<std::byte*> terms_;  ///< by rank
  mpi::Exchange exchange_;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(std::shared_ptr<mpi::Session> session, double timeout_seconds,
                                                    OperationWatch watch, std::vector<int> members) {
  if (members.empty()) {
    members.resize(static_cast<std::size_t>(session->size()));
    std::iota(members.begin(), members.end(), 0);
  }
  return std::make_unique<MpiCommunicator>(session, timeout_seconds, std::move(watch), std::move(members));
}

}  // namespace mirrortrain
