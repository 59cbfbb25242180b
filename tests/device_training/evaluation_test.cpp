// Evaluation reads a GPU's weights where they are.
#include <doctest/doctest.h>

#include <atomic>

#include "error_text.h"
#include "network.h"
#include "train/training.h"
#include "wrapped_gpus.h"

namespace mirrortrain {
namespace {

std::atomic<std::size_t> copied_bytes = 0;

class CountingStream : public testing::WrappedStream {
 public:
  using WrappedStream::WrappedStream;

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    copied_bytes += bytes;
    WrappedStream::copy(to, from, bytes);
  }
};

constexpr const char* kLayers =
    "model.layers=[flatten, {dense: {units: 300, activation: relu, kernel_regularizer: {l1: 0.001, l2: 0.01}}}, "
    "{dense: {units: 200, kernel_regularizer: {l2: 0.1}, bias_regularizer: {l2: 0.5}}}, {dense: {units: 3}}]";

TEST_CASE("an evaluation after training steps copies no weights, and has their regularization") {
  for (const int gpus : {1, 2}) {
    for (const char* more : {"gradients={}", "variables=[{match: \"*/kernel\", aggregation: none}]"}) {
      CAPTURE(gpus);
      CAPTURE(more);
      const bool differs = contains(more, "none");
      const std::string list = gpus == 1 ? "KIND:0, KIND:0" : "KIND:0, KIND:1";
      const auto on = [&](std::string kind, const Hardware& hardware) {
        std::string devices = list;
        for (std::size_t at; (at = devices.find("KIND")) != std::string::npos;) devices.replace(at, 4, kind);
        return std::make_unique<Training>(
            kDense,
            Overrides{kLayers, more, "training={tf32: false}",
                      fmt::format("strategy={{type: mirrored, devices: [{}], threads_per_replica: 1}}", devices)},
            hardware);
      };
      const auto gpu = on("cuda", testing::gpus_with<CountingStream>(gpus)), cpu = on("cpu", this_hardware());
      for (int round = 0; round < 2; ++round) {
        gpu->steps(3);
        cpu->steps(3);
        const std::size_t before = copied_bytes;
        const double loss = evaluate_all(*gpu->strategy, gpu->examples(), 6).loss;
        const std::size_t copied = copied_bytes - before;
        CHECK(loss == near(evaluate_all(*cpu->strategy, cpu->examples(), 6).loss));
        // Where each replica has weights of its own, replica 0's are given to the others' memories.
        if (gpus == 1 || !differs) CHECK(copied < 20'000);
      }
    }
  }
}

}  // namespace
}  // namespace mirrortrain
