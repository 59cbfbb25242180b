// Evaluation reads a GPU's weights where they are.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "error_text.h"
#include "network.h"
#include "strategy/variables/run_variables.h"
#include "train/training.h"
#include "wrapped_gpus.h"

namespace mirrortrain {
namespace {

std::atomic<std::size_t> copied_bytes = 0, waits = 0;

class CountingStream : public testing::WrappedStream {
 public:
  using WrappedStream::WrappedStream;

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    copied_bytes += bytes;
    WrappedStream::copy(to, from, bytes);
  }
  void synchronize() override {
    ++waits;
    WrappedStream::synchronize();
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
            kDenseNetwork,
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
        // Where each replica has weights of its own, replica 0's 65,400 are copied to each memory once.
        CHECK(copied < 20'000 + (gpus == 2 && differs ? 2 * 4 * 65'400 : 0));
      }
    }
  }
}

/// So many convolutions with batch normalizations.
std::string normalized(int layers) {
  std::string text = "model.layers=[";
  for (int i = 0; i < layers; ++i) {
    text +=
        "{conv2d: {filters: 4, kernel_size: 3, padding: same, use_bias: false}}, {batch_normalization: {momentum: "
        "0.6}}, relu, ";
  }
  return text + "flatten, {dense: {units: 3}}]";
}

TEST_CASE("values that differ between replicas become one on the GPUs, with as many waits for many as for one") {
  for (const auto& [gpus, devices] : {std::pair(1, "KIND:0, KIND:0, KIND:0"), std::pair(3, "KIND:0, KIND:1, KIND:2")}) {
    for (const char* policy :
         {"synchronization: on_read, aggregation: mean", "synchronization: on_read, aggregation: sum",
          "synchronization: none, aggregation: none", "synchronization: on_read, aggregation: only_first_replica"}) {
      CAPTURE(gpus);
      CAPTURE(std::string(policy));
      std::vector<std::size_t> waited;
      for (const int layers : {1, 4}) {
        const auto on = [&](std::string kind, const Hardware& hardware) {
          std::string list = devices;
          for (std::size_t at; (at = list.find("KIND")) != std::string::npos;) list.replace(at, 4, kind);
          return std::make_unique<Training>(
              kNetwork,
              Overrides{normalized(layers), fmt::format("variables=[{{match: \"*/moving_*\", {}}}]", policy),
                        fmt::format("strategy={{type: mirrored, devices: [{}], threads_per_replica: 1}}", list)},
              hardware);
        };
        const auto gpu = on("cuda", testing::gpus_with<CountingStream>(gpus)), cpu = on("cpu", this_hardware());
        gpu->steps(3);
        cpu->steps(3);
        const double first = evaluate_all(*gpu->strategy, gpu->examples(), 6).loss;
        CHECK(first == near(evaluate_all(*cpu->strategy, cpu->examples(), 6).loss));
        gpu->steps(1);
        cpu->steps(1);
        const std::size_t before = waits;
        const double second = evaluate_all(*gpu->strategy, gpu->examples(), 6).loss;
        waited.push_back(waits - before);
        CHECK(second != first);
        CHECK(second == near(evaluate_all(*cpu->strategy, cpu->examples(), 6).loss));
      }
      CHECK(waited[0] == waited[1]);
    }
  }
}

/// A run's variables on simulated GPUs by themselves, with values of its own in each replica.
class VariablesOnGpus {
 public:
  VariablesOnGpus(const CheckedConfiguration& checked, const Hardware& hardware)
      : topology_(make_topology(checked.values().strategy, 6, hardware.machine)),
        backend_(hardware.backend(topology_, checked.values().training)) {
    std::vector<Device*> devices;
    for (const LanePlace& lane : topology_.lanes) {
      devices_.push_back(backend_->make_device(lane.device.index, 1, {}));
      devices.push_back(devices_.back().get());
      own_streams_.push_back(devices_.back()->make_stream());
      streams.push_back(own_streams_.back().get());
    }
    devices_[0]->enter_thread();
    StoreOptions store;
    store.policies = checked.policies();
    run.emplace(*checked.model, store, UpdateOptions{checked.values().gradients}, topology_, devices, *backend_,
                nullptr);
    float number = 0.1f;
    for (std::size_t domain = 0; domain < run->domains().size(); ++domain) {
      const VariableStore& variables = run->domains()[domain]->variables;
      for (const DistributedVariable& variable : variables.variables()) {
        for (int replica = 0; replica < variables.replicas(); ++replica) {
          std::vector<float> values(variable.bytes() / sizeof(float));
          for (float& value : values) value = number = 3.7f * number * (1 - number);
          copy(domain, variable.data(replica), reinterpret_cast<const std::byte*>(values.data()), variable.bytes());
        }
      }
    }
  }

  void copy(std::size_t domain, std::byte* to, const std::byte* from, std::size_t bytes) {
    Stream& stream = *streams[static_cast<std::size_t>(run->domains()[domain]->place.lanes.front())];
    stream.copy(to, from, bytes);
    stream.synchronize();
  }

 private:
  Topology topology_;
  std::shared_ptr<const Backend> backend_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Stream>> own_streams_;

 public:
  std::vector<Stream*> streams;  ///< by lane
  std::optional<RunVariables> run;
};

TEST_CASE("what evaluation reads on each GPU has the bits of what the replicas' copies are outside of them") {
  for (const char* devices : {"cuda:0, cuda:0, cuda:0", "cuda:0, cuda:1, cuda:2", "cuda:0, cuda:0, cuda:1"}) {
    for (const char* policy :
         {"synchronization: on_read, aggregation: mean", "synchronization: on_read, aggregation: sum",
          "synchronization: none, aggregation: none", "synchronization: on_read, aggregation: only_first_replica"}) {
      CAPTURE(std::string(devices));
      CAPTURE(std::string(policy));
      const Hardware hardware = testing::gpus_under_test(3);
      const Training training(
          kNetwork,
          {normalized(2), fmt::format("variables=[{{match: \"*/moving_*\", {}}}]", policy),
           fmt::format("strategy={{type: mirrored, devices: [{}], threads_per_replica: 1}}", devices)},
          hardware);
      VariablesOnGpus variables(training.checked, hardware);
      for (int round = 0; round < 2; ++round) variables.run->begin_evaluation(variables.streams);
      std::size_t compared = 0;
      variables.run->read(Lasting::kValues, variables.streams, [&](const LastingVariable& whole) {
        if (whole.trainable) return;  // perhaps in another order
        for (std::size_t domain = 0; domain < variables.run->domains().size(); ++domain) {
          const VariableStore& here = variables.run->domains()[domain]->variables;
          std::vector<std::byte> expected(whole.value.bytes()), found(expected.size());
          whole.value.read_or_first(expected.data());
          variables.copy(domain, found.data(), reinterpret_cast<const std::byte*>(here.evaluation_copy(whole.index)),
                         found.size());
          CHECK(found == expected);
          ++compared;
        }
      });
      CHECK(compared == 4 * variables.run->domains().size());  // two layers' moving means and variances
    }
  }
}

}  // namespace
}  // namespace mirrortrain
