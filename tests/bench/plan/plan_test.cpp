#include "bench/plan/plan.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "bench/plan/step_meter.h"
#include "error_text.h"
#include "train/session/check_configuration.h"
#include "train/training.h"

namespace mirrortrain::plan {
namespace {

/// Workers of one lane with one replica.
Layout layout_of(int workers, std::int64_t batch, CrossDeviceOps operation = CrossDeviceOps::kRing) {
  Layout layout;
  layout.topology.cluster = {workers, 0};
  layout.topology.mesh.data = workers;
  layout.topology.lanes = {{{DeviceId::Kind::kCpu, 0}, 1, {}, {0}}};
  layout.choice.operation = operation;
  layout.choice.body = operation == CrossDeviceOps::kReductionToOneDevice ? ReductionChoice::Body::kGathered
                                                                          : ReductionChoice::Body::kCollective;
  layout.global_batch = batch;
  layout.rows = {rows_of_replica(batch, 0, workers).count};
  return layout;
}

WorkerStep measured(double seconds, double bytes, Exchange::Kind kind = Exchange::Kind::kAllReduce) {
  WorkerStep step;
  step.seconds = seconds;
  step.buckets = {{kind, bytes, "bucket", 1, Along::kData}};
  step.others = {{Exchange::Kind::kAllReduce, 16, "loss and metrics", 1}};
  step.memory = 1000;
  return step;
}

constexpr Assumptions kAssumed{{1e-3, 1e6}, 1e-7, 0};

TEST_CASE("a step is what a worker computes and what the workers exchange") {
  const PlannedRun run = predict(layout_of(4, 10), measured(0.5, 1e6), kAssumed);
  CHECK(run.replicas == 4);
  CHECK(run.rows == 3);
  CHECK(run.compute == 0.5);
  const double bucket = 3e-3 + 6 * 0.25 + 0.75 * 0.1, sums = 1e-3 + 3 * 16 * (1e-6 + 1e-7);
  CHECK(run.communication == doctest::Approx(bucket + sums));
  CHECK(run.step == doctest::Approx(0.5 + bucket + sums));
  CHECK(run.examples_per_second() == doctest::Approx(10 / run.step));
  CHECK(run.memory == 1000);
}

TEST_CASE("one worker communicates nothing, and is the measure of efficiency") {
  const PlannedRun one = predict(layout_of(1, 10), measured(0.5, 1e6), kAssumed);
  CHECK(one.communication == 0);
  CHECK(one.step == 0.5);
  CHECK(one.speedup(one) == 1);
  CHECK(one.efficiency(one) == 1);
  const PlannedRun two = predict(layout_of(2, 10), measured(0.25, 0), {{0, 1e6}, 0, 0});
  CHECK(two.speedup(one) == doctest::Approx(2).epsilon(1e-3));
}

TEST_CASE("gathering replicas costs their bytes, adding them and memory for all of them") {
  const PlannedRun run = predict(layout_of(4, 10, CrossDeviceOps::kReductionToOneDevice),
                                 measured(0.5, 1e6, Exchange::Kind::kAllGather), kAssumed);
  const double bucket = 2e-3 + 3 + 2 * 0.1, sums = 1e-3 + 3 * 16 * (1e-6 + 1e-7);
  CHECK(run.communication == doctest::Approx(bucket + sums));
  CHECK(run.memory == 1000 + 4'000'000);
}

TEST_CASE("workers on one machine share its cores") {
  Assumptions shared = kAssumed;
  shared.shared_cores = 2;
  const WorkerStep step = measured(0.5, 1e6);
  CHECK(predict(layout_of(2, 10), step, shared).step == predict(layout_of(2, 10), step, kAssumed).step);
  CHECK(predict(layout_of(4, 10), step, shared).step ==
        doctest::Approx(2 * predict(layout_of(4, 10), step, kAssumed).step));
}

TEST_CASE("more workers than examples leave some idle") {
  const PlannedRun run = predict(layout_of(16, 10), measured(0.5, 1e6), kAssumed);
  CHECK(run.rows == 1);
  CHECK(run.idle_workers == 6);
  CHECK(predict(layout_of(5, 10), measured(0.5, 1e6), kAssumed).idle_workers == 0);
}

TEST_CASE("recommended is the largest number up to which every number is worthwhile") {
  Plan plan;
  plan.one = predict(layout_of(1, 100), measured(1, 0), kAssumed);
  const auto add = [&](int workers, double efficiency) {
    PlannedRun& run = plan.runs.emplace_back(plan.one);
    run.workers = workers;
    run.step = plan.one.step / (workers * efficiency);
  };
  add(1, 1);
  CHECK_FALSE(recommended_workers(plan).has_value());
  add(2, 0.9);
  add(4, 0.81);
  add(8, 0.7);
  add(16, 0.9);
  CHECK(recommended_workers(plan) == 4);
}

constexpr const char* kNetworkWithStatistics = R"(
data:
  global_batch_size: 12
  train: {format: synthetic, examples: 20, shape: [6], classes: 3, seed: 5}
model:
  input_shape: [6]
  layers: [{dense: {units: 7}}, batch_normalization, {dense: {units: 3}}]
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam}
strategy: {type: mirrored, devices: [cpu:0, cpu:1], threads_per_replica: 1, communication: {bytes_per_pack: 100}}
)";

struct Planned {
  CheckedConfiguration checked;
  std::optional<data::Feeder> read;
  explicit Planned(std::vector<std::string> overrides = {}, const char* text = kNetworkWithStatistics) {
    const TemporaryFolder folder;
    const auto file = folder / "test.yaml";
    std::ofstream(file) << text;
    checked = check_configuration(file.string(), overrides);
    if (checked.has_model()) read.emplace(read_examples(checked));
  }
  Plan plan(PlanOptions options) {
    options.seconds = 0.01;
    return make_plan(checked, options);
  }
};

TEST_CASE("a plan has the topology, the buckets and the other exchanges of the run") {
  Planned planned({R"(variables=[{match: "*/moving_*", synchronization: on_write, aggregation: mean}])",
                   "gradients.clip_norm=1.0"});
  const Hardware hardware = this_hardware();
  StepMeter meter(planned.checked, workers_in_sync(planned.checked), *planned.read, hardware, 0.01);
  const Layout layout = meter.layout(3, 12);
  CHECK(layout.topology.mesh.data == 6);
  CHECK(layout.rows == std::vector<std::int64_t>{2, 2});
  CHECK(layout.choice.operation == CrossDeviceOps::kRing);
  const WorkerStep& step = meter.step(layout);
  REQUIRE(step.buckets.size() == 3);  // the two layers, and normalization between them
  CHECK(step.buckets[0].what.starts_with("bucket 1 of 3, gradients of dense_1/bias to dense_1/kernel"));
  CHECK(step.buckets[0].per_step == 1);
  std::vector<std::string> others;
  for (const Exchange& other : step.others) {
    CHECK(other.per_step == (other.what == "loss and metrics" ? 1.0 / 64 : 1));
    others.push_back(fmt::format("{} {}", other.what, other.bytes));
  }
  CHECK(others == std::vector<std::string>{
                      "batch_normalization/moving_mean 128", "batch_normalization/moving_variance 128",
                      fmt::format("loss and metrics {}", 64 * 64)});  // and regularization, of two replicas, and times
  CHECK(&meter.step(meter.layout(6, 24)) == &step);                   // the same rows are not measured again
  CHECK(&meter.step(meter.layout(6, 12)) != &step);
}

TEST_CASE("rows are those of the worker that has the most, with uneven and missing parts") {
  Planned planned;
  const Hardware hardware = this_hardware();
  StepMeter meter(planned.checked, workers_in_sync(planned.checked), *planned.read, hardware, 0.01);
  using Rows = std::vector<std::int64_t>;
  CHECK(meter.layout(2, 12).rows == Rows{3, 3});
  CHECK(meter.layout(5, 12).rows == Rows{2, 2});
  CHECK(meter.layout(8, 9).rows == Rows{1, 1});
  CHECK(meter.layout(2, 9).rows == Rows{3, 2});
  CHECK(meter.layout(64, 1).rows == Rows{1, 0});
  for (const auto& [workers, batch] : {std::pair{5, 12}, {8, 9}, {2, 9}, {64, 1}}) {
    CHECK(meter.step(meter.layout(workers, batch)).buckets.size() == 3);
  }
}

TEST_CASE("workers are measured side by side, and one that fails does not keep the others waiting") {
  Planned planned, broken({"model.initial_weights=nowhere.safetensors"});
  const Hardware hardware = this_hardware();
  StepMeter meter(planned.checked, workers_in_sync(planned.checked), *planned.read, hardware, 0.01),
      failing(broken.checked, workers_in_sync(broken.checked), *broken.read, hardware, 0.01);
  const Layout layout = meter.layout(3, 12);
  const WorkerStep& together = meter.step(layout, 3);
  CHECK(together.buckets.size() == 3);
  CHECK(&meter.step(layout) != &together);
  CHECK(contains(error_text([&] { failing.step(layout, 3); }), "nowhere.safetensors"));
}

TEST_CASE("gradients that accumulate travel in every step, and their norm where replicas have weights of their own") {
  Planned planned(
      {"gradients={clip_norm: 0.5, accumulate_steps: 2}", R"(variables=[{match: "dense/*", aggregation: none}])"});
  const Hardware hardware = this_hardware();
  StepMeter meter(planned.checked, workers_in_sync(planned.checked), *planned.read, hardware, 0.01);
  const WorkerStep& step = meter.step(meter.layout(2, 12));
  for (const Exchange& bucket : step.buckets) CHECK(bucket.per_step == 1);
  const auto squares =
      std::ranges::find_if(step.others, [](const Exchange& other) { return other.kind == Exchange::Kind::kAllGather; });
  REQUIRE(squares != step.others.end());
  CHECK(contains(squares->what, "squares"));
  CHECK(squares->per_step == 0.5);  // every second step updates
}

TEST_CASE("a plan divides the batch among workers, or gives each as much as one has") {
  const PlanOptions options{.workers = {1, 2, 4}, .network = Network{1e-3, 1e6}};
  Planned strong, weak;
  const Plan divided = strong.plan(options);
  CHECK(divided.buckets == 3);
  CHECK_FALSE(divided.network_measured);
  CHECK(divided.worker == "2 replicas on cpu:0, cpu:1, 2 threads");
  CHECK(contains(divided.note, "auto: 4 workers are processes of their own, so their communicator adds"));
  CHECK(divided.runs[0].communication == 0);
  CHECK(divided.runs[0].step == divided.one.step);
  CHECK(divided.runs[2].rows == 4);
  CHECK(divided.runs[2].communication > divided.runs[1].communication);
  PlanOptions scaled = options;
  scaled.scales_batch = true;
  const Plan multiplied = weak.plan(scaled);
  CHECK(multiplied.runs[2].global_batch == 48);
  CHECK(multiplied.runs[2].rows == 12);
}

TEST_CASE("a divided state is planned with parts of the gradients, the gather of the weights and less memory") {
  Planned planned({"strategy.optimizer_state=sharded", "model.layers[0].dense.units=700", "strategy.devices=[cpu:0]"});
  const Hardware hardware = this_hardware();
  StepMeter meter(planned.checked, workers_in_sync(planned.checked), *planned.read, hardware, 0.01);
  const WorkerStep &two = meter.step(meter.layout(2, 12)), &four = meter.step(meter.layout(4, 12));
  double gathered = 0;
  for (const WorkerStep* const step : {&two, &four}) {
    for (const Exchange& bucket : step->buckets) CHECK(bucket.kind == Exchange::Kind::kScatter);
    gathered = 0;
    for (const Exchange& other : step->others) {
      if (other.what.starts_with("weights of ")) gathered += other.bytes * (step == &two ? 2 : 4);
    }
    CHECK(gathered == doctest::Approx(4 * (7 * 700 + 2 * 700 + 701 * 3)).epsilon(0.02));
  }
  CHECK(&meter.step(meter.layout(4, 24)) != &two);  // with the same rows
  CHECK(four.memory < two.memory);
}

TEST_CASE("meshes are planned with the exchanges of their layers, between the workers that have their places") {
  const std::vector<std::string> large = {"model.layers[0].dense.units=900", "model.layers[2].dense.units=900",
                                          "strategy.devices=[cpu:0]", "data.train.classes=900"};
  const auto with = [&](std::string mesh) {
    std::vector<std::string> overrides = large;
    overrides.push_back("strategy.mesh=" + std::move(mesh));
    return Planned(overrides);
  };
  const Planned whole(large), halves = with("{data: 1, model: 2}"), quarters = with("{data: 1, model: 4}");
  const std::vector<MeshToPlan> meshes = {
      {{4, 1}, &whole.checked}, {{2, 2}, &halves.checked}, {{1, 4}, &quarters.checked}};
  const PlanOptions options{.network = Network{1e-3, 1e6}, .seconds = 0.01};
  const Plan plan = make_mesh_plan(whole.checked, meshes, options);
  REQUIRE(plan.runs.size() == 3);
  for (const PlannedRun& run : plan.runs) {
    CHECK(run.workers == 4);
    CHECK(run.communication > 0);
    CHECK(run.idle_workers == 0);
  }
  CHECK(plan.runs[0].rows == 3);
  CHECK(plan.runs[1].rows == 6);
  CHECK(plan.runs[2].rows == 12);
  CHECK(plan.runs[1].memory < 0.7 * static_cast<double>(plan.runs[0].memory));
  CHECK(plan.runs[2].memory < 0.7 * static_cast<double>(plan.runs[1].memory));
  // Over this slow network, activations of few examples take less than gradients of many weights.
  CHECK(plan.runs[2].communication < plan.runs[0].communication);
  CHECK(contains(plan_text(plan), "fastest: 1x4; least memory for a worker: 1x4"));
  const Planned two({"strategy.devices=[cpu:0, cpu:1]"}),
      elastic({"strategy.devices=[cpu:0]", "strategy.elastic=true", "strategy.type=multi_worker_mirrored"});
  const auto error_of = [&](const Planned& of, const Mesh& mesh) {
    return error_text([&] { make_mesh_plan(of.checked, {{mesh, &of.checked}}, options); });
  };
  CHECK(contains(error_of(two, {1, 3}), "--mesh 1x3: a worker's 2 devices do not divide the 3 places"));
  CHECK(contains(error_of(two, {1024, 4}), "--mesh 1024x4: expected at most 1024 workers, found 2048"));
  CHECK(contains(error_of(elastic, {1, 2}), "strategy.elastic"));
}

TEST_CASE("places of a replica that are on several workers exchange along the axis of the layers") {
  Planned planned({"strategy.mesh={data: 2, model: 2}", "strategy.devices=[cpu:0]"});
  const Hardware hardware = this_hardware();
  StepMeter meter(planned.checked, workers_in_sync(planned.checked), *planned.read, hardware, 0.01);
  const WorkerStep& step = meter.step(meter.layout(4, 12));
  CHECK(std::ranges::count(step.others, Along::kModel, &Exchange::along) > 0);
  for (const Exchange& bucket : step.buckets) CHECK(bucket.along == Along::kData);
  const WorkerStep& inside = meter.step(meter.layout(2, 12));  // each has a replica
  CHECK(std::ranges::count(inside.others, Along::kModel, &Exchange::along) == 0);
}

TEST_CASE("gathered gradients are planned with all replicas' memory") {
  const PlanOptions options{.workers = {2, 8}, .network = Network{1e-3, 1e6}};
  Planned planned({"strategy.cross_device_ops=reduction_to_one_device", "strategy.communication.bytes_per_pack=0"});
  const Plan plan = planned.plan(options);
  CHECK(plan.operation == "reduction_to_one_device");
  CHECK(plan.runs[1].memory > plan.runs[0].memory + 6 * 2 * plan.gradient_bytes);
}

TEST_CASE("hierarchical_copy between workers is carried by the sum that the transport has") {
  const WorkerStep step = measured(0.5, 1e6);
  CHECK(predict(layout_of(4, 10, CrossDeviceOps::kHierarchicalCopy), step, kAssumed).step ==
        predict(layout_of(4, 10), step, kAssumed).step);
}

TEST_CASE("what cannot be planned is refused with what to do") {
  const PlanOptions options{.workers = {1, 2}, .network = Network{1e-3, 1e6}};
  CHECK(contains(error_text([&] { Planned({"strategy={type: one_device}"}).plan(options); }),
                 "strategy.type: one_device cannot be planned"));
  CHECK(error_text([&] {
          Planned({},
                  "data: {global_batch_size: 4, train: {format: synthetic, examples: 8, shape: [1], classes: 2}}\n"
                  "state: [{name: total, assign_add: 1}]\n")
              .plan(options);
        }) == "there is no model to plan, only state");
}

}  // namespace
}  // namespace mirrortrain::plan
