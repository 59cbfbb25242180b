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
float gradient(std::size_t i, float weight, int rank, int pack, int step) {
  const auto sum = i * 7 + static_cast<std::size_t>(weight) + static_cast<std::size_t>(rank * 13 + pack * 5 + step);
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
      for (int pack = 0; pack < kPacks; ++pack) enqueue_pack(pack, step);
      for (int pack = 0; pack < kPacks; ++pack) {
        compute_->wait(*summed_[static_cast<std::size_t>(pack)]);
        enqueue(pack, step, [](TrainingLane& lane, std::size_t pack_index, int) { lane.update(pack_index); });
      }
    }
    communicator_.synchronize(*communication_);
    compute_->synchronize();
  }

  static constexpr int kPacks = 2;
  std::array<std::vector<float>, kPacks> weights;

 private:
  using Work = void (*)(TrainingLane&, std::size_t pack, int step);
  struct Job {
    TrainingLane* lane;
    std::size_t pack;
    int step;
    Work work;
  };

  void enqueue_pack(int pack, int step) {
    const auto index = static_cast<std::size_t>(pack);
    enqueue(pack, step, [](TrainingLane& lane, std::size_t pack_index, int at) { lane.backward(pack_index, at); });
    compute_->record(*ready_[index]);
    communication_->wait(*ready_[index]);
    communicator_.all_reduce(*communication_, std::span(gradients_[index]));
    communication_->record(*summed_[index]);
  }

  void enqueue(int pack, int step, Work work) {
    jobs_.push_back({this, static_cast<std::size_t>(pack), step, work});
    compute_->call(
        [](void* argument) {
          const Job& job = *static_cast<Job*>(argument);
          job.work(*job.lane, job.pack, job.step);
        },
        &jobs_.back());
  }

  void backward(std::size_t pack, int step) {
    for (std::size_t i = 0; i < kCount; ++i) {
      gradients_[pack][i] = gradient(i, weights[pack][i], communicator_.rank(), static_cast<int>(pack), step);
    }
  }
  void update(std::size_t pack) {
    for (std::size_t i = 0; i < kCount; ++i) weights[pack][i] += gradients_[pack][i];
  }

  Communicator& communicator_;
  std::array<std::vector<float>, kPacks> gradients_;
  std::deque<Job> jobs_;
  std::unique_ptr<Stream> compute_, communication_;
  std::array<std::unique_ptr<Event>, kPacks> ready_, summed_;
};

std::vector<float> expected_weights(int ranks, int pack) {
  std::vector<float> weights(kCount, 0);
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < kCount; ++i) {
      float sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += gradient(i, weights[i], rank, pack, step);
      weights[i] += sum;
    }
  }
  return weights;
}

}  // namespace

PlayingGpus::PlayingGpus(int size, std::chrono::microseconds longest_pause) {
  for (int i = 0; i < size; ++i) {
    owned_.push_back(
        make_threaded_device({DeviceId::Kind::kCuda, i}, static_cast<std::uint64_t>(i + 1), longest_pause));
    devices_.push_back(owned_.back().get());
  }
}

void run_lanes(std::span<Communicator* const> ranks, const PlayingGpus& gpus,
               const std::function<void(Communicator&, Device&, Stream&)>& body) {
  std::vector<std::unique_ptr<Stream>> streams;
  for (Device* const device : gpus.devices()) streams.push_back(device->make_stream());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] { body(*ranks[rank], *gpus.devices()[rank], *streams[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
}

void sum_on_call(Stream& stream, std::span<const float* const> terms, float* to, std::size_t count) {
  struct Job {
    std::vector<const float*> terms;
    float* to;
    std::size_t count;
  };
  stream.call(
      [](void* argument) {
        const std::unique_ptr<const Job> job(static_cast<const Job*>(argument));
        for (std::size_t i = 0; i < job->count; ++i) {
          float total = job->terms[0][i];
          for (std::size_t term = 1; term < job->terms.size(); ++term) total += job->terms[term][i];
          job->to[i] = total;
        }
      },
      new Job{{terms.begin(), terms.end()}, to, count});
}

void check_training(std::span<Communicator* const> ranks, const PlayingGpus& gpus) {
  run_lanes(ranks, gpus, [](Communicator& communicator, Device& device, Stream&) {
    TrainingLane lane(communicator, device);
    lane.train();
    for (int pack = 0; pack < TrainingLane::kPacks; ++pack) {
      CHECK(lane.weights[static_cast<std::size_t>(pack)] == expected_weights(communicator.size(), pack));
    }
  });
}

}  // namespace mirrortrain::testing
