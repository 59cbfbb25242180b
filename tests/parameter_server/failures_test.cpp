// What fails in a run with parameter servers, and what goes on.
#include <doctest/doctest.h>

#include <fstream>

#include "strategy/parameter_server/chief_connection.h"
#include "strategy/parameter_server/parameter_client.h"
#include "task_threads.h"
#include "train/session/run_strategy.h"

namespace mirrortrain {
namespace {

using testing::kCounter;
using testing::TaskThreads;

const testing::Overrides kOneThread = {"strategy.threads_per_replica=1", "strategy.communication.timeout_seconds=2"};

TEST_CASE("the steps of a worker that is killed go to others, and it may come back") {
  TaskThreads tasks(kCounter, kOneThread, 2, 1);
  auto killed = std::make_unique<ChiefConnection>(*tasks.cluster().chief, "worker 7", tasks.chief().security);
  tasks.chief().task.role().dispatch->dispatcher().wait_for_workers(2);
  auto steps = std::async(std::launch::async, [&] { return tasks.steps(40).size(); });
  CHECK(killed->take().has_value());  // a step that it never does
  killed.reset();
  CHECK(steps.get() == 40);
  testing::check_count(tasks, 40);
  tasks.start({Job::kWorker, 7});
  tasks.chief().task.role().dispatch->dispatcher().wait_for_workers(2);
  tasks.steps(40);
  testing::check_count(tasks, 80);
  for (const std::string& error : tasks.end()) CHECK(error == "no error");
}

TEST_CASE("a worker that seemed lost and pushes all the same changes nothing twice") {
  TaskThreads tasks(kCounter, kOneThread, 2, 1);
  auto lost = std::make_unique<ChiefConnection>(*tasks.cluster().chief, "worker 7", tasks.chief().security);
  tasks.chief().task.role().dispatch->dispatcher().wait_for_workers(2);
  auto steps = std::async(std::launch::async, [&] { tasks.steps(20); });
  const DispatchedStep step = lost->take().value();
  lost.reset();
  // Its gradients reach the servers while another worker computes the same step, or after.
  const Placement placement = placement_of(tasks.chief().checked, 2);
  const ParameterClient servers(placement, tasks.cluster().ps, tasks.chief().security, 2);
  std::vector<float> elements(2);
  const auto versions = servers.pull(step.generation, Content::kChanging, elements);
  servers.push({.generation = step.generation,
                .step = step.step,
                .oldest_open_step = step.oldest_open_step,
                .updates = step.updates,
                .learning_rates = {0.25f}},
               versions, std::vector<float>{-1, -1});
  steps.get();
  testing::check_count(tasks, 20);
}

TEST_CASE("a worker that starts again before its end was noticed takes its own place") {
  TaskThreads tasks(kCounter, kOneThread, 1, 1);
  ChiefConnection hung(*tasks.cluster().chief, "worker 7", tasks.chief().security);
  tasks.chief().task.role().dispatch->dispatcher().wait_for_workers(2);
  auto steps = std::async(std::launch::async, [&] { return tasks.steps(20).size(); });
  CHECK(hung.take().has_value());
  tasks.start({Job::kWorker, 7});
  CHECK(steps.get() == 20);
  testing::check_count(tasks, 20);
}

TEST_CASE("a server that is gone ends the run with its name, on every task") {
  TaskThreads tasks(kCounter, kOneThread, 2, 2);
  tasks.steps(5);
  tasks.task(1).kill();
  const std::string error = error_text([&] { tasks.steps(1000); });
  CHECK(contains(error, fmt::format("ps 1 ({}) is gone", tasks.cluster().ps[1])));
  tasks.strategy().abort(error);
  for (const int task : {0, 2, 3}) CHECK(contains(tasks.task(task).ended.get(), "ps 1"));
}

TEST_CASE("without any worker the run ends after the timeout and says why each left") {
  TaskThreads tasks(kCounter, {"strategy.communication.timeout_seconds=1"}, 1, 0);
  {
    ChiefConnection worker(*tasks.cluster().chief, "worker 0", tasks.chief().security);
    tasks.chief().task.role().dispatch->dispatcher().wait_for_workers(1);
    worker.report_failure("no space left on device", std::nullopt);
    CHECK_THROWS(worker.take());
  }
  const std::string error = error_text([&] { tasks.steps(1); });
  CHECK(contains(error, "no worker for 1 s"));
  CHECK(contains(error, "worker 0: no space left on device"));
}

TEST_CASE("a failure on the chief reaches servers and workers") {
  TaskThreads tasks(kCounter, kOneThread, 1, 2);
  tasks.steps(3);
  for (const std::string& error : tasks.end("the disk is full")) CHECK(contains(error, "the disk is full"));
}

TEST_CASE("calls without the token are refused") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "token") << "secret";
  testing::Overrides overrides = kOneThread;
  overrides.push_back(fmt::format("strategy.cluster.token_file={}", (folder.path() / "token").string()));
  TaskThreads tasks(kCounter, overrides, 1, 1);
  tasks.steps(3);
  testing::check_count(tasks, 3);
  const rpc::Security none;
  CHECK(contains(error_text([&] { ChiefConnection(*tasks.cluster().chief, "worker 9", none).take(); }), "token"));
  const Placement placement = placement_of(tasks.chief().checked, 1);
  const ParameterClient servers(placement, tasks.cluster().ps, none, 2);
  std::vector<float> elements(2);
  CHECK(contains(error_text([&] { servers.pull(1, Content::kChanging, elements); }), "token"));
  CHECK(contains(error_text([&] { servers.write(2, elements); }), "token"));
  servers.end("");  // heard by none
  tasks.steps(3);
  testing::check_count(tasks, 6);
}

TEST_CASE("elements in memory that is shared with a server are those of messages") {
  TaskThreads tasks(kCounter, kOneThread, 2, 1);
  tasks.steps(3);
  const Placement placement = placement_of(tasks.chief().checked, 2);
  const ParameterClient by_messages(placement, tasks.cluster().ps, tasks.chief().security, 2);
  ParameterClient by_memory(placement, tasks.cluster().ps, tasks.chief().security, 2);
  const auto memory = SharedMemory::make(6 * sizeof(float));
  REQUIRE(memory);
  by_memory.share(*memory);
  const std::span<float> place(reinterpret_cast<float*>(memory->bytes().data()) + 3, 2);
  std::vector<float> elements(2);
  const auto pull = [&] {
    by_messages.pull(1, Content::kChanging, elements);
    const auto versions = by_memory.pull(1, Content::kChanging, place);
    CHECK(std::equal(elements.begin(), elements.end(), place.begin()));
    return versions;
  };
  const auto versions = pull();
  CHECK(SharedMemory::open(memory->name(), memory->bytes().size()) == nullptr);  // its name is gone
  const std::vector<float> before = elements;
  PushedStep step{.generation = 1, .step = 100, .oldest_open_step = 100, .updates = 100, .learning_rates = {0.5f}};
  std::ranges::fill(place, -1.0f);
  CHECK(by_memory.push(step, versions, place).has_value());
  pull();
  for (std::size_t i = 0; i < 2; ++i) CHECK(elements[i] == before[i] + 0.5f);
  step.step = 101;
  CHECK(by_messages.push(step, versions, std::vector<float>{-1, -1}).has_value());
  pull();
  for (std::size_t i = 0; i < 2; ++i) CHECK(elements[i] == before[i] + 1.0f);
  CHECK(by_memory.pull(1, Content::kChanging, elements) == by_messages.pull(1, Content::kChanging, elements));
}

TEST_CASE("a server opens no memory but what workers make") {
  CHECK(SharedMemory::open("/mirrortrain-../passwd", 10) == nullptr);
  const auto memory = SharedMemory::make(100);
  REQUIRE(memory);
  CHECK(SharedMemory::open(memory->name(), 200) == nullptr);
  const auto same = SharedMemory::open(memory->name(), 100);
  REQUIRE(same);
  same->bytes()[99] = std::byte{7};
  CHECK(memory->bytes()[99] == std::byte{7});
  memory->remove_name();
  CHECK(SharedMemory::open(memory->name(), 100) == nullptr);
}

TEST_CASE("a server sees that whoever has made memory is gone, whatever its number") {
  auto memory = SharedMemory::make(sizeof(float));
  REQUIRE(memory);
  const auto opened = SharedMemory::open(memory->name(), sizeof(float));
  REQUIRE(opened);
  CHECK_FALSE(opened->is_abandoned());
  memory.reset();
  CHECK(opened->is_abandoned());
  opened->bytes()[0] = std::byte{1};  // still mapped here
}

TEST_CASE("a report whose numbers cannot be is refused") {
  for (const std::int64_t staleness : {std::int64_t{-1}, std::int64_t{1} << 40}) {
    TaskThreads tasks(kCounter, kOneThread, 1, 0);
    ChiefConnection worker(*tasks.cluster().chief, "worker 0", tasks.chief().security);
    tasks.chief().task.role().dispatch->dispatcher().wait_for_workers(1);
    auto error = std::async(std::launch::async, [&] { return error_text([&] { tasks.steps(1); }); });
    worker.report(worker.take().value().number, {{}, staleness});
    CHECK(contains(error.get(), fmt::format("a worker reported a staleness of {}, expected 0 to 1", staleness)));
  }
  TaskThreads tasks(kCounter, kOneThread, 1, 0);
  ChiefConnection worker(*tasks.cluster().chief, "worker 0", tasks.chief().security);
  tasks.chief().task.role().dispatch->dispatcher().wait_for_workers(1);
  auto error = std::async(std::launch::async, [&] { return error_text([&] { tasks.steps(1); }); });
  worker.report(worker.take().value().number, {StepSums(0, 3), 0});
  CHECK(contains(error.get(), "a worker reported 3 sums of metrics, expected 0"));
}

TEST_CASE("messages of the wrong size are refused") {
  TaskThreads tasks(kCounter, kOneThread, 1, 1);
  Model model;
  ModelVariable variable;
  variable.spec.shape = {3};
  variable.spec.trainable = true;
  model.variables.push_back(variable);
  const Placement other(model, std::nullopt, 1);
  const ParameterClient servers(other, tasks.cluster().ps, tasks.chief().security, 2);
  std::vector<float> elements(3);
  CHECK(contains(error_text([&] { servers.pull(1, Content::kChanging, elements); }), "expected 3 elements"));
  const std::vector<std::int64_t> versions = {0};
  CHECK(contains(error_text([&] { servers.push({.generation = 1, .step = 1}, versions, elements); }),
                 "expected 2 elements"));
  tasks.steps(2);
  testing::check_count(tasks, 2);
}

}  // namespace
}  // namespace mirrortrain
