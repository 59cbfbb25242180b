#include "collective/training_lane.h"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <thread>

#include "device/cpu/threaded_device.h"

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

std::unique_ptr<Device> playing_gpu(int index) {
  return make_threaded_device({DeviceId::Kind::kCuda, index}, static_cast<std::uint64_t>(index + 1),
                              std::chrono::microseconds(100));
}

void run_lanes(std::span<Communicator* const> ranks, const std::function<void(Communicator&, Device&, Stream&)>& body) {
  std::vector<std::thread> threads;
  for (Communicator* const communicator : ranks) {
    threads.emplace_back([&body, communicator] {
      const auto device = playing_gpu(communicator->rank());
      const auto stream = device->make_stream();
      body(*communicator, *device, *stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void check_training(std::span<Communicator* const> ranks) {
  run_lanes(ranks, [](Communicator& communicator, Device& device, Stream&) {
    TrainingLane lane(communicator, device);
    lane.train();
    for (int pack = 0; pack < TrainingLane::kPacks; ++pack) {
      CHECK(lane.weights[static_cast<std::size_t>(pack)] == expected_weights(communicator.size(), pack));
    }
  });
}

}  // namespace mirrortrain::testing
