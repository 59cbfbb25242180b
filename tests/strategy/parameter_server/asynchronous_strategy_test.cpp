// The training loop drives any strategy: here one whose worker applies its updates late, as a parameter server's do.
#include <doctest/doctest.h>

#include <algorithm>
#include <future>

#include "data/one_spec.h"
#include "device/cpu/cpu_device.h"
#include "error_text.h"
#include "train/checkpoint/weights.h"
#include "train/trainer.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

/// Fits w to the mean label by gradient descent, each gradient computed on another thread and applied when the next
/// step begins: every step reads weights that one update has not reached yet.
class Asynchronous : public Strategy {
 public:
  Asynchronous(const Model& model, std::vector<VariablePolicy> policies)
      : device_(make_cpu_device(0, 1, {})),
        store_(model, {std::move(policies)}, *device_),
        state_({}, 1, true, *device_) {
    topology_.lanes.push_back({{DeviceId::Kind::kCpu, 0}, 1, {}, {0}});
  }

  const Topology& topology() const override { return topology_; }
  void prepare(const BatchSizes&) override {}
  void train(const StepSpec& step) override {
    apply();
    rate_ = static_cast<float>(step.learning_rates[0]);
    read(step);
    // d/dw of the mean of (w - label)^2
    gradient_ = std::async(std::launch::async, [w = weight(), mean = mean_label_] { return 2 * (w - mean); });
  }
  void evaluate(const StepSpec& step) override {
    apply();
    read(step);
  }
  std::span<const StepSums> take_sums() override { return {&sums_, std::exchange(has_sums_, false) ? 1u : 0u}; }
  bool must_take_sums() const override { return has_sums_; }
  void read_variables(Lasting what, const VariableVisit& visit) override {
    apply();
    std::ranges::for_each(lasting_variables(store_, what), visit);
  }
  void write_variables(Lasting what, const VariableVisit& visit) override { read_variables(what, visit); }
  void change_variables(Lasting what, const VariableVisit& visit) override { read_variables(what, visit); }
  bool keeps_gradients() const override { return false; }
  const StateVariables& state() const override { return state_; }
  std::string differing_replicas() override {
    return ++comparisons == damaged_at ? "w: replica 1 has other values" : "";
  }

  int comparisons = 0, damaged_at = 0;

 private:
  float& weight() const { return *store_.variables()[0].copy(0).as<float>(); }
  void apply() {
    if (gradient_.valid()) weight() -= rate_ * gradient_.get();
  }
  void read(const StepSpec& step) {
    std::vector<float> features(step.rows.size()), labels(step.rows.size());
    const Shape shape{step.global_examples(), 1};
    step.data_set->fill(step.rows,
                        data::one_batch({DType::kFloat32, shape, reinterpret_cast<std::byte*>(features.data())},
                                        {DType::kFloat32, shape, reinterpret_cast<std::byte*>(labels.data())}));
    sums_.clear();
    sums_.examples = step.global_examples();
    has_sums_ = true;
    float total = 0;
    for (const float label : labels) {
      sums_.loss += (weight() - label) * (weight() - label);
      total += label;
    }
    mean_label_ = total / static_cast<float>(labels.size());
  }

  std::unique_ptr<Device> device_;
  VariableStore store_;
  StateVariables state_;
  Topology topology_;
  StepSums sums_;
  bool has_sums_ = false;
  std::future<float> gradient_;
  float rate_ = 0, mean_label_ = 0;
};

constexpr const char* kOneWeight = R"(
data:
  global_batch_size: 2
  shuffle: false
  train: {format: inline, features: [[1], [1], [1], [1]], labels: [[2], [4], [3], [3]]}
model: {input_shape: [1], layers: [{dense: {units: 1, use_bias: false, kernel_initializer: zeros}}]}
loss: {type: mean_squared_error}
optimizer: {type: sgd, learning_rate: 0.25}
strategy: {type: one_device, devices: [cpu:0]}
)";

TEST_CASE("the same loop trains, validates, logs and saves with an asynchronous strategy") {
  Training configured(kOneWeight);
  Asynchronous strategy(*configured.checked.model, configured.checked.policies());
  data::Order order(4, {2, false, false, 0});
  Checkpoints checkpoints(configured.folder() / "checkpoints", strategy, {{}, {}}, {});
  std::vector<report::StepEvent> steps;
  std::vector<report::EpochEvent> epochs;
  const auto stop = [](std::int64_t) { return 0; };
  Trainer trainer(
      strategy, TrainingSteps(strategy, &configured.examples(), order, 1, {LearningRate{0.25}}),
      *configured.checked.model, &configured.examples(), checkpoints,
      {.epochs = 8, .log_every_steps = 1, .batch_size = 4},
      [&](const report::Event& event) {
        if (const auto* step = std::get_if<report::StepEvent>(&event)) steps.push_back(*step);
        if (const auto* epoch = std::get_if<report::EpochEvent>(&event)) epochs.push_back(*epoch);
      },
      stop);
  const TrainingState last = trainer.run({});
  CHECK(last.step == 16);
  CHECK(last.epoch_sums.examples == 4);
  REQUIRE(steps.size() == 16);
  REQUIRE(epochs.size() == 8);
  // w = 0, then each step halves the distance to the mean label 3.
  CHECK(steps[0].scores->loss == doctest::Approx((4 + 16) / 2.0));
  CHECK(epochs.back().validation->loss == doctest::Approx(0.5).epsilon(1e-6));  // w = 3
  CHECK(newest_checkpoint(configured.folder() / "checkpoints").has_value());
  strategy.write_variables(Lasting::kValues,
                           [](const LastingVariable& weight) { *weight.value.copy(0).as<float>() = 7; });
  CHECK(checkpoints.restore()->step == 16);
  CHECK(copy_weights(strategy).begin()->second.span<float>()[0] == doctest::Approx(3).epsilon(1e-4));
}

TEST_CASE("replicas are compared every so many steps and before each checkpoint; where they differ, the run ends") {
  Training configured(kOneWeight);
  Asynchronous strategy(*configured.checked.model, configured.checked.policies());
  data::Order order(4, {2, false, false, 0});
  Checkpoints checkpoints(configured.folder() / "checkpoints", strategy, {{}, {}}, {});
  const auto train = [&](std::optional<std::int64_t> every_steps) {
    TrainerOptions options{.epochs = 5, .batch_size = 4};
    options.check_replicas_every_steps = every_steps;
    const auto stop = [](std::int64_t) { return 0; };
    Trainer trainer(
        strategy, TrainingSteps(strategy, &configured.examples(), order, 1, {LearningRate{0.25}}),
        *configured.checked.model, nullptr, checkpoints, options, [](const report::Event&) {}, stop);
    trainer.run({});
  };
  train(std::nullopt);
  CHECK(strategy.comparisons == 0);
  train(3);
  CHECK(strategy.comparisons == 7);  // after steps 3 and 9, and at the ends of five epochs of two steps
  strategy.damaged_at = 7 + 3;
  CHECK(error_text([&] { train(3); }).starts_with("step 4: w: replica 1 has other values, though all replicas share"));
  CHECK(newest_checkpoint(configured.folder() / "checkpoints")->filename() == "step-000010");
}

}  // namespace
}  // namespace mirrortrain
