#include "collective/nccl/nccl_communicator.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "base/error.h"
#include "base/watched_call.h"
#include "collective/call_barrier.h"
#include "collective/nccl/nccl_library.h"
#include "collective/nccl/watch.h"
#include "device/cuda/cuda_check.h"
#include "device/cuda/cuda_stream.h"

namespace mirrortrain {
namespace {

using Operation = CollectiveCall::Operation;

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16: return ncclBfloat16;
    case DType::kFloat32: return ncclFloat32;
    case DType::kFloat64: return ncclFloat64;
    case DType::kInt32: return ncclInt32;
    case DType::kInt64: return ncclInt64;
    default: throw Error(fmt::format("ranks do not exchange {} {}", kWrongElements, name_of(dtype)));
  }
}

/// State shared by this process's ranks.
struct Group {
  Group(std::span<const int> gpus_of_ranks, double timeout, const NcclWorld& world)
      : gpus(gpus_of_ranks.begin(), gpus_of_ranks.end()),
        first(world.first),
        ranks(world.ranks > 0 ? world.ranks : static_cast<int>(gpus.size())),
        timeout_seconds(timeout),
        come(gpus.size()) {}

  /// `local`: counts this process's ranks.
  std::string name_of(std::size_t local) const {
    return fmt::format("rank {} (cuda:{})", first + static_cast<int>(local), gpus[local]);
  }

  void abort(const std::string& why) {
    const std::lock_guard lock(mutex);
    if (aborted) return;
    reason = why;
    aborted = true;
  }

  const std::vector<int> gpus;  ///< by rank of this process
  const int first, ranks;
  const double timeout_seconds;
  std::vector<std::atomic<std::uint64_t>> come;  ///< operations enqueued, by rank of this process
  std::mutex mutex;
  std::string reason;  ///< written once, before `aborted`
  std::atomic<bool> aborted = false;
};

class NcclCommunicator : public Communicator {
 public:
  /// Takes ownership of the ncclComm_t. The thread's current GPU must be the rank's.
  NcclCommunicator(int rank, ncclComm_t comm, std::shared_ptr<Group> group)
      : rank_(static_cast<std::size_t>(rank)),
        comm_(comm),
        group_(std::move(group)),
        watch_(group_->gpus[rank_], group_->timeout_seconds) {}

  ~NcclCommunicator() override {
    // Waits for running operations, which still use the rank, as when an error elsewhere ends a run with steps in
    // flight.
    try {
      while (!group_->aborted && watch_.oldest()) {
        check();
        sched_yield();
      }
    } catch (const std::exception&) {  // check() has aborted the group
    }
    if (group_->aborted) {
      leave();
    } else {
      nccl_.comm_destroy(comm_);
    }
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return group_->first + static_cast<int>(rank_); }
  int size() const override { return group_->ranks; }

  void all_reduce(Stream& stream, Elements elements) override {
    enqueue(stream, {Operation::kAllReduce, elements}, [&](cudaStream_t native) {
      require(nccl_.all_reduce(elements.data, elements.data, elements.count, type_of(elements.dtype), ncclSum, comm_,
                               native),
              "ncclAllReduce");
    });
  }

  void all_gather(Stream& stream, Elements elements) override {
    enqueue(stream, {Operation::kAllGather, elements}, [&](cudaStream_t native) {
      const std::size_t part = elements.count / static_cast<std::size_t>(size());
      std::byte* const own = elements.data + part * static_cast<std::size_t>(rank()) * size_of(elements.dtype);
      require(nccl_.all_gather(own, elements.data, part, type_of(elements.dtype), comm_, native), "ncclAllGather");
    });
  }

  void all_to_all(Stream& stream, Elements elements, std::byte* received) override {
    enqueue(stream, {Operation::kAllToAll, elements, received}, [&](cudaStream_t native) {
      const std::size_t part = elements.count / static_cast<std::size_t>(size());
      const std::size_t bytes = part * size_of(elements.dtype);
      require(nccl_.group_start(), "ncclGroupStart");
      ncclResult_t sent = ncclSuccess, got = ncclSuccess;
      for (int other = 0; other < size(); ++other) {
        const std::size_t place = static_cast<std::size_t>(other) * bytes;
        if (sent == ncclSuccess) {
          sent = nccl_.send(elements.data + place, part, type_of(elements.dtype), other, comm_, native);
        }
        if (got == ncclSuccess) {
          got = nccl_.receive(received + place, part, type_of(elements.dtype), other, comm_, native);
        }
      }
      const ncclResult_t ended = nccl_.group_end();  // always: an open group would include this thread's next calls
      require(sent, "ncclSend");
      require(got, "ncclRecv");
      require(ended, "ncclGroupEnd");
    });
  }

  void transfer(Stream& stream, Elements elements, int from) override {
    require_pair(*this, elements, from);
    enqueue(stream, {Operation::kTransfer, elements, nullptr, from}, [&](cudaStream_t native) {
      if (rank() == from) {
        require(nccl_.send(elements.data, elements.bytes(), ncclUint8, 1 - from, comm_, native), "ncclSend");
      } else {
        require(nccl_.receive(elements.data, elements.bytes(), ncclUint8, from, comm_, native), "ncclRecv");
      }
    });
  }

  void check() override {
    or_abort([&] {
      ncclResult_t state = ncclSuccess;
      require(nccl_.comm_get_async_error(comm_, &state), "ncclCommGetAsyncError");
      require(state, "NCCL");
      watch_.look();
      if (const auto number = watch_.overdue()) throw Error(overdue(*number));
    });
  }

  /// Polls, as NCCL requires: a stream does not report an operation that never ends.
  void synchronize(Stream& stream) override {
    using Clock = std::chrono::steady_clock;
    constexpr auto kBetweenChecks = std::chrono::milliseconds(1);
    auto checked = Clock::now();
    check();
    while (!is_done(stream)) {
      if (Clock::now() - checked > kBetweenChecks) {
        check();
        checked = Clock::now();
      }
      sched_yield();
    }
    check();
  }

  bool poll(Stream& stream) override {
    check();
    return is_done(stream);
  }

  /// Each rank leaves on the thread that drives it, at its next check: the thread may be inside a call now.
  void abort(const std::string& reason) override { group_->abort(reason); }

 private:
  template <class Body>
  void enqueue(Stream& stream, const CollectiveCall& call, const Body& body) {
    check();
    while (watch_.full()) {
      sched_yield();
      check();
    }
    or_abort([&] {
      watch_.begin(stream, call);
      try {
        body(cuda::native(stream));
      } catch (const Error& error) {
        throw Error(fmt::format("{}; it was {}", error.what(), call.text()));
      }
      watch_.end(stream);
      group_->come[rank_].fetch_add(1);
    });
  }

  bool is_done(Stream& stream) {
    bool done = false;
    or_abort([&] {
      const cudaError_t state = cudaStreamQuery(cuda::native(stream));
      done = state == cudaSuccess;
      if (state == cudaErrorNotReady) {
        cudaGetLastError();  // not a failure, and must not be reported by the next launch
      } else {
        cuda::check(state, "cudaStreamQuery", group_->gpus[rank_]);
      }
    });
    return done;
  }

  /// Runs a rank's work; aborts the group if it fails, and throws if the group is already aborted.
  template <class Work>
  void or_abort(const Work& work) {
    if (!group_->aborted) {
      try {
        return work();
      } catch (const std::exception& error) {
        group_->abort(error.what());
      }
    }
    leave();
    throw Error(group_->reason);
  }

  /// Ends this rank's operations. Only its own: another rank's ncclComm_t could be in use by another thread.
  void leave() {
    if (comm_ != nullptr) nccl_.comm_abort(comm_);
    comm_ = nullptr;
  }

  void require(ncclResult_t result, const char* call) const {
    if (result == ncclSuccess || result == ncclInProgress) return;
    const auto running = watch_.oldest();
    throw Error(fmt::format(
        "{} failed on {}: {} ({}){}", call, group_->name_of(rank_), nccl_.get_error_string(result),
        nccl_.get_last_error(comm_),
        running ? fmt::format("; operation {} had not ended, {}", *running + 1, watch_.call(*running).text()) : ""));
  }

  std::string overdue(std::uint64_t number) const {
    std::string late;
    for (std::size_t other = 0; other < group_->come.size(); ++other) {
      if (group_->come[other] <= number) late += fmt::format("{}{}", late.empty() ? "" : ", ", group_->name_of(other));
    }
    return fmt::format("{} waited {:g} seconds in operation {}, {}; {}", group_->name_of(rank_),
                       group_->timeout_seconds, number + 1, watch_.call(number).text(),
                       late.empty() ? "every rank here has enqueued it, so a GPU or a link is stuck, another process "
                                      "is late, or strategy.communication.timeout_seconds is too short"
                                    : fmt::format("{} {} it", late, kLateRank));
  }

  const nccl::Library& nccl_ = nccl::library();
  const std::size_t rank_;  ///< among this process's
  ncclComm_t comm_;         ///< null once this rank has left an aborted group
  const std::shared_ptr<Group> group_;
  nccl::Watch watch_;
};

}  // namespace

std::string why_no_nccl() {
  try {
    nccl::library();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

cuda::LibraryState find_nccl() {
  return cuda::state_of_library("NCCL", [] {
    int version = 0;
    nccl::library().get_version(&version);
    return std::pair(version, nccl::library().get_version);
  });
}

std::string make_nccl_id() {
  const nccl::Library& nccl = nccl::library();
  ncclUniqueId id;
  if (const ncclResult_t result = nccl.get_unique_id(&id); result != ncclSuccess) {
    throw Error(
        fmt::format("ncclGetUniqueId failed: {} ({})", nccl.get_error_string(result), nccl.get_last_error(nullptr)));
  }
  return {id.internal, sizeof(id.internal)};
}

namespace {

using Comms = std::vector<ncclComm_t>;  ///< by rank of this process

ncclResult_t init_ranks(const nccl::Library& nccl, std::span<const int> gpus, const NcclWorld& world, Comms& comms) {
  if (world.ranks == 0) return nccl.comm_init_all(comms.data(), static_cast<int>(gpus.size()), gpus.data());
  ncclUniqueId id;
  if (world.id.size() != sizeof(id.internal)) throw Error("the id of NCCL's ranks has another size than NCCL's here");
  world.id.copy(id.internal, sizeof(id.internal));
  // In one group, because each call by itself waits for every rank.
  ncclResult_t result = nccl.group_start();
  for (std::size_t local = 0; local < gpus.size() && result == ncclSuccess; ++local) {
    const cuda::CurrentDevice current(gpus[local]);
    result = nccl.comm_init_rank(&comms[local], world.ranks, id, world.first + static_cast<int>(local));
  }
  const ncclResult_t ended = nccl.group_end();
  return result == ncclSuccess ? ended : result;
}

Comms make_comms(std::span<const int> gpus, const NcclWorld& world) {
  const nccl::Library& nccl = nccl::library();
  Comms comms(gpus.size());
  if (const ncclResult_t result = init_ranks(nccl, gpus, world, comms); result != ncclSuccess) {
    throw Error(fmt::format("{} failed for ranks on cuda:{}: {} ({})",
                            world.ranks == 0 ? "ncclCommInitAll" : "ncclCommInitRank", fmt::join(gpus, ", cuda:"),
                            nccl.get_error_string(result), nccl.get_last_error(nullptr)));
  }
  return comms;
}

/// ncclCommInitRank waits indefinitely for missing ranks. (The nonblocking variant, with ncclConfig_t::blocking 0,
/// would make all later operations return before they are enqueued, too.)
Comms make_comms_in_time(std::span<const int> gpus, double timeout_seconds, const NcclWorld& world) {
  const auto comms = std::make_shared<Comms>();
  const auto begin = std::chrono::steady_clock::now();
  call_watched(
      [comms, own = std::vector(gpus.begin(), gpus.end()), world] { *comms = make_comms(own, world); },
      [&] {
        const std::string failure = world.failure ? world.failure() : "";
        if (!failure.empty()) throw Error(failure);
        const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
        if (timeout_seconds <= 0 || waited.count() < timeout_seconds) return;
        throw Error(fmt::format(
            "ncclCommInitRank waited {:g} seconds for all {} ranks (here on cuda:{}): another process is late, "
            "NCCL cannot reach it (NCCL_SOCKET_IFNAME chooses the network), or "
            "strategy.communication.timeout_seconds is too short",
            timeout_seconds, world.ranks, fmt::join(gpus, ", cuda:")));
      });
  return std::move(*comms);
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(std::span<const int> gpus, double timeout_seconds,
                                                                   const NcclWorld& world) {
  const Comms comms = world.ranks == 0 ? make_comms(gpus, world) : make_comms_in_time(gpus, timeout_seconds, world);
  const auto group = std::make_shared<Group>(gpus, timeout_seconds, world);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const cuda::CurrentDevice current(gpus[rank]);
    communicators.push_back(std::make_unique<NcclCommunicator>(static_cast<int>(rank), comms[rank], group));
  }
  return communicators;
}

}  // namespace mirrortrain
