// Collectives on real GPUs. One is enough for most: ranks that copy from each other may share it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "collective/nccl/nccl_communicator.h"
#include "collective/peer/peer_group.h"
#include "collective/uneven.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/gpus.h"
#include "error_text.h"
#include "kernels/cuda/backend.h"
#include "skip.h"

using namespace mirrortrain;
using testing::Rows;

namespace {

int gpu_count() { return static_cast<int>(cuda::visible_gpus().gpus.size()); }

struct Gpus {
  /// So many devices on the GPUs in turn.
  explicit Gpus(int size) {
    std::vector<int> used;
    for (int i = 0; i < size; ++i) {
      if (i < gpu_count()) used.push_back(i);
      owned.push_back(make_cuda_device(i % gpu_count()));
      devices.push_back(owned.back().get());
    }
    cuda::enable_peer_access(used);
  }
  std::vector<std::unique_ptr<Device>> owned;
  std::vector<Device*> devices;
};

/// A rank's elements on its device.
class OnDevice {
 public:
  OnDevice(Device& device, Stream& stream, std::vector<float>& host)
      : stream_(stream), host_(host), buffer_(device.allocate(bytes())) {
    stream_.copy(buffer_.data(), reinterpret_cast<std::byte*>(host_.data()), bytes());
    stream_.synchronize();
  }
  Elements elements() const { return std::span(buffer_.as<float>(), host_.size()); }
  void read() {
    stream_.copy(reinterpret_cast<std::byte*>(host_.data()), buffer_.data(), bytes());
    stream_.synchronize();
  }

 private:
  std::size_t bytes() const { return host_.size() * sizeof(float); }
  Stream& stream_;
  std::vector<float>& host_;
  Buffer buffer_;
};

/// Calls work(communicator, stream, elements) for every rank on a thread of its own, and gives back what the elements
/// became. A rank that fails aborts.
Rows run_ranks(const std::vector<Communicator*>& ranks, const Gpus& gpus, Rows rows,
               const std::function<void(Communicator&, Stream&, Elements)>& work,
               std::vector<std::string>* messages = nullptr) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (Device* const device : gpus.devices) streams.push_back(device->make_stream());
  std::vector<std::string> told(ranks.size());
  std::vector<std::unique_ptr<OnDevice>> elements;  // made before any rank waits for another, and outliving their work
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    elements.push_back(std::make_unique<OnDevice>(*gpus.devices[rank], *streams[rank], rows[rank]));
  }
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      gpus.devices[rank]->enter_thread();
      told[rank] = error_text([&] {
        work(*ranks[rank], *streams[rank], elements[rank]->elements());
        ranks[rank]->synchronize(*streams[rank]);
        elements[rank]->read();
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (messages != nullptr) {
    *messages = told;
  } else {
    for (const std::string& message : told) CHECK(message == "no error");
  }
  return rows;
}

std::vector<Communicator*> pointers(const std::vector<std::unique_ptr<Communicator>>& owned) {
  std::vector<Communicator*> ranks;
  for (const auto& communicator : owned) ranks.push_back(communicator.get());
  return ranks;
}

std::vector<int> all_gpus() {
  std::vector<int> indices(static_cast<std::size_t>(gpu_count()));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

/// Whole numbers, so that any order gives the same sum.
Rows whole_numbers(int ranks, std::size_t count) {
  Rows rows(static_cast<std::size_t>(ranks), std::vector<float>(count));
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    for (std::size_t i = 0; i < count; ++i) rows[rank][i] = static_cast<float>((i * 7 + rank * 13) % 251);
  }
  return rows;
}

std::vector<float> total_of(const Rows& rows) {
  std::vector<float> total(rows[0].size());
  for (const auto& row : rows) std::transform(row.begin(), row.end(), total.begin(), total.begin(), std::plus());
  return total;
}

}  // namespace

TEST_CASE("GPUs that copy from each other give the same bits as ranks that share a memory") {
  constexpr AggregationMethod kMethods[] = {AggregationMethod::kAddN, AggregationMethod::kTree,
                                            AggregationMethod::kAccumulateN};
  const auto backend = cuda::make_backend({});
  for (const CrossDeviceOps algorithm : staged_operations()) {
    const std::string_view name = config::name_of(algorithm);
    for (const AggregationMethod method : kMethods) {
      for (const int ranks : {1, 2, 3, 5}) {
        CAPTURE(name);
        CAPTURE(ranks);
        CAPTURE(static_cast<int>(method));
        const StagedReduction reduction(algorithm, ranks, method);
        const Gpus gpus(ranks);
        const PeerGroup group(reduction, gpus.devices, backend->step_kernels(),
                              {.timeout_seconds = 20, .block_bytes = 100000});
        const Rows before = testing::uneven(ranks, 30001);
        const std::vector<float> expected = testing::summed(reduction, before);
        const Rows after = run_ranks(group.ranks(), gpus, before, [](Communicator& rank, Stream& stream, Elements row) {
          rank.all_reduce(stream, row);
        });
        for (const auto& row : after) CHECK(std::memcmp(row.data(), expected.data(), row.size() * sizeof(float)) == 0);
      }
    }
  }
}

TEST_CASE("NCCL sums and gathers over all GPUs") {
  if (testing::skip_without(why_no_nccl().empty(), "NCCL")) return;
  const int size = gpu_count();
  const Gpus gpus(size);
  const auto owned = make_nccl_communicators(all_gpus(), 60);
  const auto ranks = pointers(owned);
  for (const std::size_t part : {std::size_t{1}, std::size_t{1000}, std::size_t{16} * 64}) {
    CAPTURE(part);
    const Rows before = whole_numbers(size, part * static_cast<std::size_t>(size));
    const std::vector<float> total = total_of(before);
    for (const auto& row : run_ranks(ranks, gpus, before, [](Communicator&rank, Stream&stream, Elements elements) {
           rank.all_reduce(stream, elements);
         })) {
      CHECK(row == total);
    }
    std::vector<float> gathered;
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
      const auto own = before[rank].begin() + static_cast<std::ptrdiff_t>(rank * part);
      gathered.insert(gathered.end(), own, own + static_cast<std::ptrdiff_t>(part));
    }
    for (const auto& row : run_ranks(ranks, gpus, before, [](Communicator&rank, Stream&stream, Elements elements) {
           rank.all_gather(stream, elements);
         })) {
      CHECK(row == gathered);
    }
  }
}

TEST_CASE("of two NCCL ranks one sends what the other receives, both ways at once on two groups") {
  if (testing::skip_without(why_no_nccl().empty() && gpu_count() >= 2, "NCCL and 2 GPUs")) return;
  const Gpus gpus(2);
  const auto up = make_nccl_communicators(std::vector{0, 1}, 60), down = make_nccl_communicators(std::vector{0, 1}, 60);
  const Rows before = whole_numbers(2, 1000);
  const Rows after = run_ranks(pointers(up), gpus, before, [&](Communicator& rank, Stream& stream, Elements elements) {
    // The first half goes up, the other one down; the lower rank sends before it receives, the upper one after.
    Elements first = elements, second = elements;
    first.count = second.count = elements.count / 2;
    second.data += first.bytes();
    Communicator& back = *down[static_cast<std::size_t>(rank.rank())];
    const std::unique_ptr<Stream> sends = gpus.devices[static_cast<std::size_t>(rank.rank())]->make_stream();
    const bool is_lower = rank.rank() == 0;
    rank.transfer(is_lower ? *sends : stream, first, 0);
    back.transfer(is_lower ? stream : *sends, second, 1);
    (is_lower ? rank : back).synchronize(*sends);
    back.synchronize(stream);
  });
  CHECK(std::equal(after[1].begin(), after[1].begin() + 500, before[0].begin()));
  CHECK(std::equal(after[0].begin() + 500, after[0].end(), before[1].begin() + 500));
}

TEST_CASE("NCCL takes more operations than it watches at once") {
  if (testing::skip_without(why_no_nccl().empty(), "NCCL")) return;
  const Gpus gpus(gpu_count());
  const auto owned = make_nccl_communicators(all_gpus(), 60);
  const Rows zeros(gpus.devices.size(), std::vector<float>(100));
  run_ranks(pointers(owned), gpus, zeros, [](Communicator& rank, Stream& stream, Elements elements) {
    for (int i = 0; i < 300; ++i) rank.all_reduce(stream, elements);
  });
}

TEST_CASE("a type that NCCL's ranks cannot sum is an error at once, and so is every operation after it") {
  if (testing::skip_without(why_no_nccl().empty(), "NCCL")) return;
  const Gpus gpus(1);
  const auto owned = make_nccl_communicators(std::vector{0}, 60);
  std::vector<std::string> messages;
  run_ranks(
      pointers(owned), gpus, Rows(1, std::vector<float>(100)),
      [](Communicator& rank, Stream& stream, Elements elements) {
        Elements bytes = elements;
        bytes.dtype = DType::kUint8;
        CHECK(contains(error_text([&] { rank.all_reduce(stream, bytes); }), fmt::format("{} uint8", kWrongElements)));
        rank.all_reduce(stream, elements);
      },
      &messages);
  CHECK(contains(messages[0], fmt::format("{} uint8", kWrongElements)));
}

TEST_CASE("an NCCL rank that does not come is named after the timeout") {
  if (testing::skip_without(why_no_nccl().empty() && gpu_count() >= 2, "NCCL and 2 GPUs")) return;
  const Gpus gpus(2);
  const auto owned = make_nccl_communicators(std::vector{0, 1}, 2);
  const auto ranks = pointers(owned);
  // The first operation connects the ranks, which all have to come to.
  const auto both = [](Communicator& rank, Stream& stream, Elements elements) { rank.all_reduce(stream, elements); };
  run_ranks(ranks, gpus, Rows(2, std::vector<float>(100)), both);
  std::vector<std::string> messages;
  run_ranks(
      ranks, gpus, Rows(2, std::vector<float>(100)),
      [](Communicator& rank, Stream& stream, Elements elements) {
        elements.what = "bucket 2 of 3";
        if (rank.rank() == 0) rank.all_reduce(stream, elements);
        if (rank.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(4));
      },
      &messages);
  CHECK(contains(messages[0],
                 "rank 0 (cuda:0) waited 2 seconds in operation 2, all_reduce of 100 float32 elements "
                 "(bucket 2 of 3)"));
  CHECK(contains(messages[0], fmt::format("rank 1 (cuda:1) {} it", kLateRank)));
  CHECK(messages[1] == messages[0]);
}
