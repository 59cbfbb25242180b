// Where a device can run a step but not capture it, training goes on without.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "network.h"
#include "train/training.h"
#include "wrapped_gpus.h"

namespace mirrortrain {
namespace {

/// A stream that runs, but does not capture: it calls what is to be captured, as a GPU does whose library then refuses.
class RefusingStream : public testing::WrappedStream {
 public:
  using WrappedStream::WrappedStream;

  void run(std::function<void()> work) override {
    if (!captures_) WrappedStream::run(std::move(work));
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (!captures_) WrappedStream::copy(to, from, bytes);
  }
  void zero(std::byte* to, std::size_t bytes) override {
    if (!captures_) WrappedStream::zero(to, bytes);
  }
  std::unique_ptr<Recording> capture(const std::function<void()>& enqueue) override {
    captures_ = true;
    enqueue();
    captures_ = false;
    throw Error("this device captures nothing");
  }

 private:
  bool captures_ = false;
};

TEST_CASE("steps that a GPU cannot capture, alone or several at once, are enqueued kernel by kernel") {
  const auto trained = [](const std::string& strategy, const char* graph, const Hardware& hardware) {
    Training training(
        kNetwork,
        {fmt::format("training={{tf32: false, cuda_graph: {}}}", graph), "data.drop_remainder=true", strategy},
        hardware);
    const auto losses = training.steps_in_flight(40);
    return std::pair(losses, training.variables());
  };
  for (const auto& [gpus, strategy] :
       {std::pair(1, strategy_of("cuda", 2)),
        std::pair(2, std::string("strategy={type: mirrored, devices: [cuda:0, cuda:1]}"))}) {
    CAPTURE(gpus);
    CHECK(trained(strategy, "auto", testing::gpus_with<RefusingStream>(gpus)) ==
          trained(strategy, "never", testing::gpus_under_test(gpus)));
  }
}

/// Batches of four numbers; one of 0 has a label whose error squared overflows.
std::string batches_of(const std::vector<int>& batches) {
  std::string features, labels;
  for (const int batch : batches) {
    for (int i = 0; i < 4; ++i) {
      const double x = 0.3 * batch + 0.7 * i - 1;
      features += fmt::format("[{}, {}], ", x, x * x - 1);
      labels += fmt::format("[{}], ", batch == 0 && i == 2 ? 1e30 : 2 * x);
    }
  }
  return fmt::format("data.train={{format: inline, features: [{}], labels: [{}]}}", features, labels);
}

constexpr const char* kSkips = R"(
seed: 3
training: {tf32: false, on_non_finite: skip}
data: {global_batch_size: 4, shuffle: false, train: {format: inline, features: [[1, 2]], labels: [[1]]}}
model:
  input_shape: [2]
  layers:
    - dense: {units: 5, activation: tanh}
    - batch_normalization: {momentum: 0.5}
    - dense: {units: 1, kernel_regularizer: {l2: 0.01}}
loss: {type: mean_squared_error}
optimizer: {type: adam, learning_rate: 0.1}
)";

/// Custom kernels launched in the step after so many, as the host counts them: none that were captured.
std::pair<std::map<std::string, std::vector<float>>, std::int64_t> trained_on(const std::vector<int>& batches,
                                                                              Overrides overrides, int gpus = 1) {
  overrides.push_back(batches_of(batches));
  Training training(kSkips, overrides, testing::gpus_under_test(gpus));
  std::int64_t launches = 0;
  for (const int batch : batches) {
    const std::int64_t before = testing::launches()->own;
    const double loss = training.steps(1)[0];
    launches = testing::launches()->own - before;
    CHECK(std::isnan(loss) == (batch == 0));
    if (std::isnan(loss)) skip_step(training.state);
  }
  CHECK(training.state.updates == std::ranges::count_if(batches, [](int batch) { return batch != 0; }));
  return {training.variables(), launches};
}

TEST_CASE("a step that is left out if its numbers are not finite is captured, but for the look at them") {
  for (const std::string& strategy :
       {strategy_of("cuda", 1), strategy_of("cuda", 2),
        std::string("strategy={type: mirrored, devices: [cuda:0, cuda:1], cross_device_ops: ring}")}) {
    for (const char* gradients : {"gradients={}", "gradients={clip_norm: 0.1}"}) {
      CAPTURE(strategy);
      CAPTURE(gradients);
      const int gpus = strategy.find("cuda:1") != std::string::npos ? 2 : 1;
      const Overrides captured{strategy, gradients}, enqueued{strategy, gradients, "training.cuda_graph=never"};
      // Also where the first, and the one that would be captured, are left out.
      const auto [with, launches] = trained_on({0, 1, 2, 0, 3, 4, 0, 0, 5, 6}, captured, gpus);
      CHECK(with == trained_on({1, 2, 3, 4, 5, 6}, captured, gpus).first);
      CHECK(with == trained_on({0, 1, 2, 0, 3, 4, 0, 0, 5, 6}, enqueued, gpus).first);
      if (gpus == 1) CHECK(launches == 0);
      CHECK(with == trained_on({1, 0, 2, 3, 4, 5, 0, 6}, captured, gpus).first);
    }
  }
}

}  // namespace
}  // namespace mirrortrain
