#include "bench/reduction_timer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <optional>
#include <thread>

#include "base/barrier.h"
#include "base/median.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

float element(std::uint32_t index, std::uint32_t replica, std::uint32_t round) {
  return static_cast<float>((index * 2654435761u + replica * 40503u * 65536u + round * 2246822519u) >> 24);
}

/// Elements with a known sum: whole numbers up to 255, so that sums of up to 65000 are exact in any order. They differ
/// by element, replica and round.
void fill_sample(std::span<float> elements, int replica, int round) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] =
        element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(replica), static_cast<std::uint32_t>(round));
  }
}

/// The number of elements that are not the sum of the `replicas` replicas' samples of that round.
std::uint64_t count_wrong_sums(std::span<const float> elements, int replicas, int round) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    float sum = 0;
    for (int replica = 0; replica < replicas; ++replica) {
      sum += element(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(replica),
                     static_cast<std::uint32_t>(round));
    }
    wrong += elements[i] != sum;
  }
  return wrong;
}

/// Decides whether one size has been timed often enough, and computes its time. The time limit of all repetitions
/// starts at once.
class Repetitions {
 public:
  void add(double seconds) {
    constexpr int kWarmUps = 2;
    if (warm_ups_++ >= kWarmUps) seconds_.push_back(seconds);
  }
  bool enough() const {
    constexpr std::size_t kLeast = 5, kMost = 10000;
    constexpr double kEnoughSeconds = 0.08;  // checking included
    return seconds_.size() >= kMost || (seconds_.size() >= kLeast && seconds_since(start_) >= kEnoughSeconds);
  }
  double median() const { return mirrortrain::median(seconds_); }

 private:
  const Clock::time_point start_ = Clock::now();
  int warm_ups_ = 0;
  std::vector<double> seconds_;
};

/// Reductions of one size in a repetition: on a GPU enough to measure its speed rather than the host's, unless their
/// elements need too much memory.
std::size_t reductions_in_a_row(const Device& device, std::size_t bytes_each) {
  if (device.id().kind == DeviceId::Kind::kCpu) return 1;
  constexpr std::size_t kMost = 20, kBytes = std::size_t{64} << 20;
  return std::clamp<std::size_t>(kBytes / std::max<std::size_t>(bytes_each, 1), 1, kMost);
}

/// The stride of rows of `count` elements, each aligned to 64 bytes.
std::size_t stride_of(std::size_t count) { return (count + 15) / 16 * 16; }

/// A replica's elements in a device's memory, written and read by the host: in place on a CPU, through a copy on a GPU.
class Sample {
 public:
  Sample(Device& device, std::size_t elements, std::size_t longest)
      : device_(device.allocate(elements * sizeof(float))) {
    if (device.id().kind == DeviceId::Kind::kCuda) host_ = device.allocate_host(longest * sizeof(float));
  }

  std::span<float> row(std::size_t row, std::size_t count) const {
    return {device_.as<float>() + row * stride_of(count), count};
  }
  void fill(Stream& stream, std::span<float> elements, int replica, int round) const {
    if (host_.data() == nullptr) return fill_sample(elements, replica, round);
    fill_sample({host_.as<float>(), elements.size()}, replica, round);
    stream.copy(reinterpret_cast<std::byte*>(elements.data()), host_.data(), elements.size_bytes());
    stream.synchronize();
  }
  std::uint64_t count_wrong(Stream& stream, std::span<const float> elements, int replicas, int round) const {
    if (host_.data() == nullptr) return count_wrong_sums(elements, replicas, round);
    stream.copy(host_.data(), reinterpret_cast<const std::byte*>(elements.data()), elements.size_bytes());
    stream.synchronize();
    return count_wrong_sums({host_.as<float>(), elements.size()}, replicas, round);
  }

 private:
  Buffer device_, host_;  ///< host_: the longest row, only for a GPU
};

class Timer {
 public:
  Timer(std::span<const TimedDomain> domains, std::span<const std::size_t> counts, bool spin, double timeout_seconds,
        const std::function<void(std::size_t, const ReductionTiming&)>& report)
      : domains_(domains), counts_(counts), report_(report), barrier_(lanes_of(domains), spin, timeout_seconds) {
    for (const TimedDomain& domain : domains_) {
      const auto lanes = static_cast<int>(domain.devices.size());
      Domain& own = own_.emplace_back();
      own.first_replica = all_replicas_;
      all_replicas_ += domain.replicas;
      own.numbers.resize(static_cast<std::size_t>(domain.replicas));
      std::iota(own.numbers.begin(), own.numbers.end(), 0);
      own.scales.assign(own.numbers.size(), 1);
      own.samples.resize(own.numbers.size());
      if (lanes > 1) own.barrier = std::make_unique<Barrier>(lanes, spin, timeout_seconds);
      own.lanes = std::vector<Lane>(domain.devices.size());
    }
  }

  void run() {
    std::vector<std::thread> threads;
    for (std::size_t domain = 0; domain < own_.size(); ++domain) {
      for (std::size_t lane = 0; lane < own_[domain].lanes.size(); ++lane) {
        threads.emplace_back([this, domain, lane] { run_or_abort(domain, lane); });
      }
    }
    for (std::thread& thread : threads) thread.join();
    for (const Domain& domain : own_) {
      for (const Lane& lane : domain.lanes) {
        if (lane.failure) std::rethrow_exception(lane.failure);
      }
    }
  }

 private:
  struct Lane {
    std::unique_ptr<Stream> stream;
    DomainLane place;
    double seconds = 0;       ///< of this repetition
    std::uint64_t wrong = 0;  ///< likewise
    std::exception_ptr failure;
  };
  /// Domains outlive every lane's work.
  struct Domain {
    int first_replica = 0;
    std::vector<int> numbers;  ///< of its replicas: 0, 1, ...
    std::vector<float> scales;
    std::vector<std::optional<Sample>> samples;  ///< by replica
    std::vector<GradientBucket> buckets;         ///< by row
    std::unique_ptr<Barrier> barrier;
    std::vector<Lane> lanes;
  };

  static int lanes_of(std::span<const TimedDomain> domains) {
    int lanes = 0;
    for (const TimedDomain& domain : domains) lanes += static_cast<int>(domain.devices.size());
    return lanes;
  }

  void run_or_abort(std::size_t domain, std::size_t lane) {
    Domain& own = own_[domain];
    try {
      run_lane(domains_[domain], own, lane);
    } catch (const std::exception& error) {
      own.lanes[lane].failure = std::current_exception();
      barrier_.abort(error.what());
      if (own.barrier) own.barrier->abort(error.what());
      if (domains_[domain].communicator != nullptr) domains_[domain].communicator->abort(error.what());
    }
  }

  void run_lane(const TimedDomain& domain, Domain& own, std::size_t index) {
    Device& device = *domain.devices[index];
    device.enter_thread();
    Lane& lane = own.lanes[index];
    lane.stream = device.make_stream();
    lane.place.index = static_cast<int>(index);
    lane.place.lanes = static_cast<int>(own.lanes.size());
    lane.place.stream = lane.stream.get();
    lane.place.barrier = own.barrier.get();
    lane.place.replicas =
        own.lanes.size() == 1 ? std::span<const int>(own.numbers) : std::span<const int>(own.numbers).subspan(index, 1);
    for (const int replica : lane.place.replicas) allocate(device, own.samples[static_cast<std::size_t>(replica)]);
    const bool keeps_books = &domain == domains_.data() && index == 0;
    for (std::size_t count = 0; count < counts_.size(); ++count) {
      Repetitions repetitions;
      for (int repetition = 0; repetition == 0 || more_; ++repetition) {
        repeat(domain, own, lane, counts_[count], repetition);
        if (keeps_books) keep_books(count, repetitions);
        barrier_.arrive_and_wait();
      }
    }
  }

  void allocate(Device& device, std::optional<Sample>& sample) const {
    std::size_t elements = 0, longest = 0;
    for (const std::size_t count : counts_) {
      elements = std::max(elements, reductions_in_a_row(device, count * sizeof(float)) * stride_of(count));
      longest = std::max(longest, count);
    }
    sample.emplace(device, elements, longest);
  }

  void repeat(const TimedDomain& domain, Domain& own, Lane& lane, std::size_t count, int repetition) {
    const std::size_t rows = reductions_in_a_row(*domain.devices[0], count * sizeof(float));
    const auto round = [&](std::size_t row) { return repetition * static_cast<int>(rows) + static_cast<int>(row); };
    const auto elements = [&](int replica, std::size_t row) {
      return own.samples[static_cast<std::size_t>(replica)]->row(row, count);
    };
    for (const int replica : lane.place.replicas) {
      const Sample& sample = *own.samples[static_cast<std::size_t>(replica)];
      for (std::size_t row = 0; row < rows; ++row) {
        sample.fill(*lane.stream, elements(replica, row), own.first_replica + replica, round(row));
      }
    }
    if (lane.place.is_first()) {
      barrier_.arrive_and_wait();  // every sample is allocated
      own.buckets.assign(rows, {});
      for (std::size_t row = 0; row < rows; ++row) {
        own.buckets[row].elements = static_cast<std::int64_t>(count);
        for (const int replica : own.numbers) {
          own.buckets[row].gradients.push_back(reinterpret_cast<std::byte*>(elements(replica, row).data()));
        }
      }
    } else {
      barrier_.arrive_and_wait();
    }
    barrier_.arrive_and_wait();
    const auto start = Clock::now();
    for (const GradientBucket& bucket : own.buckets) {
      domain.reducer->start(*lane.stream, bucket, own.scales, lane.place);
    }
    domain.reducer->finish(lane.place);
    lane.place.arrive_and_wait();
    domain.communicator != nullptr ? domain.communicator->synchronize(*lane.stream) : lane.stream->synchronize();
    lane.seconds = seconds_since(start) / static_cast<double>(rows);
    lane.wrong = 0;
    for (const int replica : lane.place.replicas) {
      if (replica > 0 && !domain.sums_everywhere) continue;
      const Sample& sample = *own.samples[static_cast<std::size_t>(replica)];
      for (std::size_t row = 0; row < rows; ++row) {
        lane.wrong += sample.count_wrong(*lane.stream, elements(replica, row), all_replicas_, round(row));
      }
    }
    barrier_.arrive_and_wait();
  }

  /// Runs on one lane while the others wait.
  void keep_books(std::size_t index, Repetitions& repetitions) {
    double slowest = 0;
    for (const Domain& domain : own_) {
      for (const Lane& lane : domain.lanes) {
        slowest = std::max(slowest, lane.seconds);
        total_wrong_ += lane.wrong;
      }
    }
    repetitions.add(slowest);
    more_ = !repetitions.enough();
    if (more_) return;
    report_(index, {repetitions.median(), total_wrong_});
    total_wrong_ = 0;
  }

  const std::span<const TimedDomain> domains_;
  const std::span<const std::size_t> counts_;
  const std::function<void(std::size_t, const ReductionTiming&)>& report_;
  Barrier barrier_;  ///< of all lanes
  std::vector<Domain> own_;
  int all_replicas_ = 0;
  std::uint64_t total_wrong_ = 0;
  bool more_ = true;  ///< written by one lane between two barriers
};

}  // namespace

void time_reduction(std::span<const TimedDomain> domains, std::span<const std::size_t> counts, bool spin,
                    double timeout_seconds,
                    const std::function<void(std::size_t index, const ReductionTiming& timing)>& report) {
  Timer(domains, counts, spin, timeout_seconds, report).run();
}

}  // namespace mirrortrain
