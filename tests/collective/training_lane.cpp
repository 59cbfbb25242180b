#include "collective/training_lane.h"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <thread>

#include "simulated_gpu/threaded_device.h"

namespace mirrortrain::testing {
namespace {

constexpr int kSteps = 4;
constexpr std::size_t kCount = 777;

/// Depends on the weight, so that a step that starts too early shows.
float gradient(std::size_t i, float weight, int rank, int bucket, int step) {
  const auto sum = i * 7 + static_cast<std::size_t>(weight) + static_cast<std::size_t>(rank * 13 + bucket * 5 + step);
  return static_cast<float>(sum % 31);
}

class TrainingLane {
 public:
  TrainingLane(Communicator& communicator, Device& device)
      : communicator_(communicator),
        compute_(device.make_stream()),
        communication_(device.make_stream()),
        ready_{device.make_event(), device.make_event()},
        summed_{device.make_event(), device.make_event()} {
    for (auto& row : weights) row.assign(kCount, 0);
    for (auto& row : gradients_) row.assign(kCount, 0);
  }

  void train() {
    for (int step = 0; step < kSteps; ++step) {
      for (int bucket = 0; bucket < kBuckets; ++bucket) enqueue_bucket(bucket, step);
      for (int bucket = 0; bucket < kBuckets; ++bucket) {
        compute_->wait(*summed_[static_cast<std::size_t>(bucket)]);
        enqueue(bucket, step, [](TrainingLane& lane, std::size_t bucket_index, int) { lane.update(bucket_index); });
      }
    }
    communicator_.synchronize(*communication_);
    compute_->synchronize();
  }

  static constexpr int kBuckets = 2;
  std::array<std::vector<float>, kBuckets> weights;

 private:
  using Work = void (*)(TrainingLane&, std::size_t bucket, int step);
  struct Job {
    TrainingLane* lane;
    std::size_t bucket;
    int step;
    Work work;
  };

  void enqueue_bucket(int bucket, int step) {
    const auto index = static_cast<std::size_t>(bucket);
    enqueue(bucket, step,
            [](TrainingLane& lane, std::size_t bucket_index, int at) { lane.backward(bucket_index, at); });
    compute_->record(*ready_[index]);
    communication_->wait(*ready_[index]);
    communicator_.all_reduce(*communication_, std::span(gradients_[index]));
    communication_->record(*summed_[index]);
  }

  void enqueue(int bucket, int step, Work work) {
    jobs_.push_back({this, static_cast<std::size_t>(bucket), step, work});
    compute_->call(
        [](void* argument) {
          const Job& job = *static_cast<Job*>(argument);
          job.work(*job.lane, job.bucket, job.step);
        },
        &jobs_.back());
  }

  void backward(std::size_t bucket, int step) {
    for (std::size_t i = 0; i < kCount; ++i) {
      gradients_[bucket][i] = gradient(i, weights[bucket][i], communicator_.rank(), static_cast<int>(bucket), step);
    }
  }
  void update(std::size_t bucket) {
    for (std::size_t i = 0; i < kCount; ++i) weights[bucket][i] += gradients_[bucket][i];
  }

  Communicator& communicator_;
  std::array<std::vector<float>, kBuckets> gradients_;
  std::deque<Job> jobs_;
  std::unique_ptr<Stream> compute_, communication_;
  std::array<std::unique_ptr<Event>, kBuckets> ready_, summed_;
};

std::vector<float> expected_weights(int ranks, int bucket) {
  std::vector<float> weights(kCount, 0);
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < kCount; ++i) {
      float sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += gradient(i, weights[i], rank, bucket, step);
      weights[i] += sum;
    }
  }
  return weights;
}

}  // namespace

SimulatedGpus::SimulatedGpus(int size, std::chrono::microseconds longest_pause) {
  for (int i = 0; i < size; ++i) {
    owned_.push_back(
        make_threaded_device({DeviceId::Kind::kCuda, i}, static_cast<std::uint64_t>(i + 1), longest_pause));
    devices_.push_back(owned_.back().get());
  }
}

void run_lanes(std::span<Communicator* const> ranks, const SimulatedGpus& gpus,
               const std::function<void(Communicator&, Device&, Stream&)>& body) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (Device* const device : gpus.devices()) streams.push_back(device->make_stream());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] { body(*ranks[rank], *gpus.devices()[rank], *streams[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
}

namespace {

class SummingKernels : public StepKernels {
 public:
  void sum_sources(Stream& stream, std::span<const scalar::GradientSource> sources, float* to, std::int64_t begin,
                   std::int64_t end) const override {
    struct Job {
      std::vector<scalar::GradientSource> sources;
      float* to;
      std::int64_t begin, end;
    };
    stream.call(
        [](void* argument) {
          const std::unique_ptr<const Job> job(static_cast<const Job*>(argument));
          for (std::int64_t i = job->begin; i < job->end; ++i) {
            float total = 0;
            for (const scalar::GradientSource& source : job->sources) total += source.scale * source.elements[i];
            job->to[i] = total;
          }
        },
        new Job{{sources.begin(), sources.end()}, to, begin, end});
  }

  void update(Stream&, const scalar::UpdateRule&, const Group&, const scalar::GradientSum&, const StepParams*,
              std::int64_t, std::int64_t) const override {}
  int most_sources() const override { return 64; }
  bool refreshes_rounded() const override { return false; }
  void accumulate(Stream&, const Group&, const scalar::GradientSum&, bool, std::int64_t, std::int64_t) const override {}
  void sum_regularization(Stream&, const Group&, std::int64_t, std::int64_t) const override {}
  void measure(Stream&, const scalar::UpdateRule&, const Group&, const StepParams*, std::int64_t,
               std::int64_t) const override {}
  void update_accumulated(Stream&, const scalar::UpdateRule&, const Group&, const StepParams*, std::int64_t,
                          std::int64_t) const override {}
  void bound_weights(Stream&, const scalar::WeightBounds&, float*, bfloat16*, std::int64_t,
                     std::int64_t) const override {}
  void normalize_spectrum(Stream&, const scalar::WeightMatrix&, float*, bfloat16*, float*, double*) const override {}
  void compress(Stream&, const float*, float*, bfloat16*, std::int64_t) const override {}
  void add_compressed(Stream&, const scalar::CompressedSum&) const override {}
  void add_shards(Stream&, const scalar::ShardSum&) const override {}
  void expand(Stream&, const scalar::Expansion&) const override {}
  void sum_numbers(Stream&, const double*, std::int64_t, double, bool, double*) const override {}
  void sum_rows(Stream&, const double*, std::int64_t, std::int64_t, std::int64_t, double*) const override {}
  void scale_to_norm(Stream&, const double*, double, std::int64_t, StepParams*) const override {}
};

}  // namespace

const StepKernels& summing_kernels() {
  static const SummingKernels kernels;
  return kernels;
}

void check_training(std::span<Communicator* const> ranks, const SimulatedGpus& gpus) {
  run_lanes(ranks, gpus, [](Communicator& communicator, Device& device, Stream&) {
    TrainingLane lane(communicator, device);
    lane.train();
    for (int bucket = 0; bucket < TrainingLane::kBuckets; ++bucket) {
      CHECK(lane.weights[static_cast<std::size_t>(bucket)] == expected_weights(communicator.size(), bucket));
    }
  });
}

}  // namespace mirrortrain::testing
