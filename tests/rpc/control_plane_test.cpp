// The tasks of a cluster, as threads that talk over loopback.
#include "rpc/control_plane.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "cluster/reachable_host.h"
#include "error_text.h"
#include "rpc/coordination.grpc.pb.h"
#include "temporary_folder.h"

namespace mirrortrain::rpc {
namespace {

using namespace std::chrono_literals;

/// Takes connections and says nothing, as a suspended process does.
class SilentSocket {
 public:
  /// At 127.0.0.1:PORT.
  explicit SilentSocket(const std::string& at) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(at.substr(at.find(':') + 1))));
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    REQUIRE(::listen(socket_, 8) == 0);
  }
  SilentSocket(const SilentSocket&) = delete;
  SilentSocket& operator=(const SilentSocket&) = delete;
  ~SilentSocket() { ::close(socket_); }

 private:
  int socket_;
};

ClusterSpec cluster_of(int workers) {
  ClusterSpec cluster;
  for (int i = 0; i < workers; ++i) cluster.workers.push_back("127.0.0.1:" + std::to_string(free_port("127.0.0.1")));
  cluster.source = "TF_CONFIG";
  return cluster;
}

Handshake handshake(const std::string& units = "8") {
  return {"1.0", {{"seed", "1"}, {"model.layers[0].dense.units", units}, {"name", "a"}}};
}

/// Calls body(worker, control) for each worker on a thread; returns what each threw.
template <class Body>
std::vector<std::string> run_tasks(
    const ClusterSpec& cluster, const Body& body,
    const std::function<Handshake(int)>& introduce = [](int) { return handshake(); }, Timeouts timeouts = {10, 10}) {
  std::vector<std::string> errors(cluster.workers.size());
  std::vector<std::thread> threads;
  for (int worker = 0; worker < static_cast<int>(cluster.workers.size()); ++worker) {
    threads.emplace_back([&, worker] {
      ClusterSpec own = cluster;
      own.task.index = worker;
      errors[static_cast<std::size_t>(worker)] = error_text([&] {
        const auto control = ControlPlane::join(own, Security::from({}), introduce(worker), timeouts);
        body(worker, *control);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

TEST_CASE("tasks join and leave values for each other") {
  const auto errors = run_tasks(cluster_of(3), [](int worker, ControlPlane& control) {
    control.put("from " + std::to_string(worker), std::string(worker + 1, 'x') + std::string(1, '\0'));
    for (int other = 0; other < 3; ++other) {
      CHECK(control.get("from " + std::to_string(other)) == std::string(other + 1, 'x') + std::string(1, '\0'));
    }
  });
  for (const std::string& error : errors) CHECK(error == "no error");
}

TEST_CASE("a table has every rank's value, or its value for this rank, and takes one message each way") {
  const auto errors = run_tasks(cluster_of(4), [](int worker, ControlPlane& control) {
    if (worker == 3) return;  // of no group
    const int rank = 2 - worker;
    for (int round = 0; round < 2; ++round) {
      const std::string own = "from " + std::to_string(rank) + std::string(1, '\0');
      const auto all = control.gather("all", rank, 3, std::span(&own, 1));
      CHECK(all == std::vector<std::string>{std::string("from 0\0", 7), std::string("from 1\0", 7),
                                            std::string("from 2\0", 7)});
      std::vector<std::string> parts(3);
      parts[static_cast<std::size_t>((rank + 1) % 3)] = own;
      std::vector<std::string> expected(3);
      expected[static_cast<std::size_t>((rank + 2) % 3)] = all[static_cast<std::size_t>((rank + 2) % 3)];
      CHECK(control.gather("parts", rank, 3, parts) == expected);
    }
  });
  for (const std::string& error : errors) CHECK(error == "no error");
}

TEST_CASE("a table that a rank does not add to ends with the reason") {
  const auto errors = run_tasks(cluster_of(3), [](int worker, ControlPlane& control) {
    if (worker == 1) return control.fail("the disk is full", 1);
    const std::string nothing;
    control.gather("all", worker, 3, std::span(&nothing, 1));
  });
  for (const std::size_t other : {0, 2}) CHECK(contains(errors[other], "failed: the disk is full"));
}

TEST_CASE("several threads of a task wait for values at once") {
  const auto errors = run_tasks(cluster_of(2), [](int worker, ControlPlane& control) {
    if (worker == 0) {
      control.get("both wait");
      std::this_thread::sleep_for(200ms);
      control.put("b", "second");
      control.put("a", "first");
      return;
    }
    std::jthread other([&] { CHECK(error_text([&] { CHECK(control.get("a") == "first"); }) == "no error"); });
    std::this_thread::sleep_for(200ms);
    std::jthread last([&] { CHECK(error_text([&] { CHECK(control.get("b") == "second"); }) == "no error"); });
    std::this_thread::sleep_for(200ms);
    control.put("both wait", "");
  });
  for (const std::string& error : errors) CHECK(error == "no error");
}

TEST_CASE("a task with another configuration, version or cluster is refused, and all learn what differs") {
  const ClusterSpec cluster = cluster_of(2);
  const auto nothing = [](int, ControlPlane&) {};
  for (const std::string& error :
       run_tasks(cluster, nothing, [](int worker) { return handshake(worker == 0 ? "8" : "16"); })) {
    CHECK(error == "worker 1 (" + cluster.workers[1] + "): model.layers[0].dense.units is 16, but 8 on worker 0 (" +
                       cluster.workers[0] + "); give every task the same configuration");
  }
  for (const std::string& error : run_tasks(cluster_of(2), nothing, [](int worker) {
         Handshake own = handshake();
         if (worker == 1) own.version = "2.0";
         return own;
       })) {
    CHECK(contains(error, "runs mirrortrain 2.0"));
  }
  for (const std::string& error : run_tasks(cluster_of(2), nothing, [](int worker) {
         Handshake own = handshake();
         if (worker == 1) own.configuration.pop_back();
         return own;
       })) {
    CHECK(contains(error, "worker 0 ("));
    CHECK(contains(error, "has name, which worker 1 ("));
  }
  for (const int longer : {0, 1}) {  // the key behind it is the next one there
    for (const std::string& error : run_tasks(cluster_of(2), nothing, [&](int worker) {
           Handshake own = handshake();
           if (worker == longer) own.configuration.insert(own.configuration.begin() + 1, {"devices[1]", "cpu:1"});
           return own;
         })) {
      CHECK(contains(error, longer == 1 ? "devices[1] is cpu:1, but absent on" : "devices[1] is absent, but cpu:1 on"));
    }
  }
}

TEST_CASE("tasks with clusters of other lengths all learn it, and a second process as one task is told of") {
  const ClusterSpec two = cluster_of(2);
  ClusterSpec three = two;
  three.workers.push_back("127.0.0.1:1");
  three.task.index = 1;
  std::string error;
  std::thread other([&] {
    error = error_text([&] { ControlPlane::join(three, Security::from({}), handshake(), {10, 10}); });
  });
  const std::string chiefs = error_text([&] { ControlPlane::join(two, Security::from({}), handshake(), {10, 10}); });
  other.join();
  CHECK(chiefs ==
        "worker 1: the chief's cluster (TF_CONFIG) has 2 tasks, worker 1's has 3 tasks; give every task the same "
        "cluster");
  CHECK(error == chiefs);
}

TEST_CASE("a task that fails ends the others with its name and reason") {
  const ClusterSpec cluster = cluster_of(3);
  const auto errors = run_tasks(cluster, [](int worker, ControlPlane& control) {
    if (worker == 1) return control.fail("the disk is full", 5);
    std::string told;
    std::mutex mutex;
    control.on_failure([&](const std::string& reason) {
      const std::scoped_lock lock(mutex);
      told = reason;
    });
    const std::string message = error_text([&] { control.get("what never comes"); });
    control.on_failure({});
    CHECK(told == message);
    CHECK(control.failed_exit_code() == 5);
    throw Error(message);
  });
  for (const int other : {0, 2}) {
    CHECK(errors[static_cast<std::size_t>(other)] == "worker 1 (" + cluster.workers[1] + ") failed: the disk is full");
  }
}

/// A task without a heart, whose every word the test says.
struct PuppetTask {
  PuppetTask(const std::string& chief, const std::string& task, int tasks)
      : stub(Coordination::NewStub(grpc::CreateChannel(chief, grpc::InsecureChannelCredentials()))) {
    call.set_wait_for_ready(true);
    stream = stub->Session(&call);
    FromTask message;
    Hello& hello = *message.mutable_hello();
    hello.set_task(task);
    hello.set_tasks(tasks);
    hello.set_version(handshake().version);
    for (const auto& [key, value] : handshake().configuration) {
      Setting& setting = *hello.add_configuration();
      setting.set_key(key);
      setting.set_value(value);
    }
    stream->Write(message);
  }
  void progress(std::int64_t step, const std::string& operation, std::int64_t operations) {
    FromTask message;
    message.mutable_progress()->set_step(step);
    message.mutable_progress()->set_operation(operation);
    message.mutable_progress()->set_operations(operations);
    stream->Write(message);
  }
  void wait_for_welcome() {
    ToTask message;
    while (stream->Read(&message) && !message.has_welcome()) {
    }
  }

  grpc::ClientContext call;
  std::unique_ptr<Coordination::Stub> stub;
  std::unique_ptr<grpc::ClientReaderWriter<FromTask, ToTask>> stream;
};

TEST_CASE("a task that dies is named with its step and operation by every survivor") {
  ClusterSpec cluster = cluster_of(3);
  std::thread dying([&] {
    PuppetTask puppet(cluster.workers[0], "worker 2", 3);
    puppet.wait_for_welcome();
    puppet.progress(17, "bucket 1 of 3, gradients of dense/kernel", 40);
    std::this_thread::sleep_for(100ms);
    puppet.call.TryCancel();
    puppet.stream->Finish();
  });
  std::vector<std::thread> threads;
  std::vector<std::string> errors(2);
  for (int worker : {0, 1}) {
    threads.emplace_back([&, worker] {
      ClusterSpec own = cluster;
      own.task.index = worker;
      const auto control = ControlPlane::join(own, Security::from({}), handshake(), {10, 10});
      control->begin_step(18);
      control->begin_operation("bucket 1 of 3, gradients of dense/kernel");
      errors[static_cast<std::size_t>(worker)] = error_text([&] { control->get("what never comes"); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  dying.join();
  for (const std::string& error : errors) {
    CHECK(contains(error, "worker 2 (" + cluster.workers[2] + ") ended unexpectedly; worker "));
    CHECK(contains(error, " was in step 18, in bucket 1 of 3, gradients of dense/kernel"));
  }
}

TEST_CASE("a task of a job that may leave can die, be silent or fail, and come back, while the run goes on") {
  ClusterSpec cluster = cluster_of(3);
  cluster.chief = cluster.workers.back();
  cluster.workers.pop_back();
  cluster.task = {Job::kChief, 0};
  Timeouts timeouts{10, 1};
  timeouts.may_leave = {Job::kWorker};
  std::vector<std::string> lost, welcomed;
  timeouts.on_silence = [&](const Task& task, const std::string& reason) {
    lost.push_back(task.text() + ": " + reason);
  };
  std::thread workers([&] {
    PuppetTask silent(*cluster.chief, "worker 0", 3);
    PuppetTask dying(*cluster.chief, "worker 1", 3);
    silent.wait_for_welcome();
    dying.wait_for_welcome();
    dying.call.TryCancel();
    dying.stream->Finish();
    std::this_thread::sleep_for(2200ms);  // longer than the silent one has
    for (const char* task : {"worker 0", "worker 1"}) {
      PuppetTask again(*cluster.chief, task, 3);
      again.wait_for_welcome();
      welcomed.emplace_back(task);
      FromTask message;
      message.mutable_failure()->set_reason("the disk is full");
      again.stream->Write(message);
      again.stream->WritesDone();
    }
    silent.call.TryCancel();
    silent.stream->Finish();
  });
  const auto control = ControlPlane::join(cluster, Security::from({}), handshake(), timeouts);
  workers.join();
  std::this_thread::sleep_for(100ms);
  CHECK(welcomed.size() == 2);
  REQUIRE(lost.size() == 1);
  CHECK(contains(lost[0], "worker 0: it has not been heard from for "));
  CHECK(control->failure().empty());
}

TEST_CASE("an elastic run goes from one generation of tasks to the next, without who is lost, until it comes back") {
  const ClusterSpec cluster = cluster_of(3);
  const auto join = [&](int worker, const Generation& generation) {
    ClusterSpec own = cluster;
    own.task.index = worker;
    Timeouts timeouts{10, 10};
    timeouts.elastic = true;
    return ControlPlane::join(own, Security::from({}), handshake(), timeouts, {}, generation);
  };
  std::atomic<bool> has_lost_one = false;
  const auto survive = [&](int worker) {
    Generation next;
    {
      const auto control = join(worker, {});
      CHECK(control->generation() == 1);
      error_text([&] { control->get("what never comes"); });
      CHECK(control->regroups());
      CHECK_FALSE(control->is_lost_itself());
      if (worker == 0) CHECK(control->lost() == std::vector<Task>{{Job::kWorker, 2}});
      next = {2, control->lost()};
    }
    {
      const auto control = join(worker, next);
      CHECK(control->generation() == 2);
      CHECK(control->cluster().absent == std::vector<Task>{{Job::kWorker, 2}});
      CHECK(control->cluster().trainers().size() == 2);
      has_lost_one = true;
      std::int64_t step = 1;
      while (control->agree_to_stop(step, 0) == 0) ++step, std::this_thread::sleep_for(1ms);
      CHECK(control->failure().empty());
      next = {3, control->lost()};
      CHECK(next.lost.empty());
    }
    const auto control = join(worker, next);
    CHECK(control->generation() == 3);
    CHECK(control->cluster().absent.empty());
  };
  std::thread chief([&] { survive(0); }), other([&] { survive(1); });
  {
    PuppetTask dying(cluster.workers[0], "worker 2", 3);
    dying.wait_for_welcome();
    dying.call.TryCancel();
    dying.stream->Finish();
  }
  while (!has_lost_one) std::this_thread::sleep_for(1ms);
  CHECK(join(2, {})->generation() == 3);
  chief.join();
  other.join();
}

TEST_CASE("tasks that start further apart than the silence that ends a run train together") {
  const ClusterSpec cluster = cluster_of(3);
  const auto errors = run_tasks(
      cluster,
      [](int worker, ControlPlane& control) {
        // Long enough to be missed, if it were counted from the first tasks' start.
        std::this_thread::sleep_for(1500ms);
        control.put("from " + std::to_string(worker), "");
        for (int other = 0; other < 3; ++other) control.get("from " + std::to_string(other));
      },
      [](int worker) {
        if (worker == 2) std::this_thread::sleep_for(3500ms);
        return handshake();
      },
      {.join_seconds = 20, .silence_seconds = 3});
  for (const std::string& error : errors) CHECK(error == "no error");
}

TEST_CASE("an elastic run begins without a task that has left before all had joined, and does not come back") {
  const ClusterSpec cluster = cluster_of(3);
  Timeouts timeouts{30, 10};
  timeouts.elastic = true;
  timeouts.regroup_seconds = 0.5;
  const auto begin = [&](int worker) {
    ClusterSpec own = cluster;
    own.task.index = worker;
    const auto control = ControlPlane::join(own, Security::from({}), handshake(), timeouts);
    CHECK(control->generation() == 1);
    CHECK(control->cluster().absent == std::vector<Task>{{Job::kWorker, 2}});
    if (worker == 0) CHECK(control->lost() == std::vector<Task>{{Job::kWorker, 2}});
  };
  std::thread chief([&] { begin(0); });
  {
    PuppetTask dying(cluster.workers[0], "worker 2", 3);
    ToTask heartbeat;
    CHECK(dying.stream->Read(&heartbeat));  // so it has joined
    dying.call.TryCancel();
    dying.stream->Finish();
  }
  std::thread other([&] { begin(1); });
  chief.join();
  other.join();
}

TEST_CASE("a task that comes back as an elastic run ends learns that it is over") {
  const ClusterSpec cluster = cluster_of(3);
  Timeouts timeouts{10, 10};
  timeouts.elastic = true;
  const auto join = [&](int worker, const Generation& generation) {
    ClusterSpec own = cluster;
    own.task.index = worker;
    return ControlPlane::join(own, Security::from({}), handshake(), timeouts, {}, generation);
  };
  std::atomic<bool> is_second = false;
  const auto survive = [&](int worker) {
    Generation next;
    {
      const auto control = join(worker, {});
      error_text([&] { control->get("what never comes"); });
      next = {2, control->lost()};
    }
    const auto control = join(worker, next);
    is_second = true;
    std::this_thread::sleep_for(1s);  // less than a task must stay before the others stop for it
  };
  std::thread chief([&] { survive(0); }), other([&] { survive(1); });
  {
    PuppetTask dying(cluster.workers[0], "worker 2", 3);
    dying.wait_for_welcome();
    dying.call.TryCancel();
    dying.stream->Finish();
  }
  while (!is_second) std::this_thread::sleep_for(1ms);
  CHECK_THROWS_WITH_AS(join(2, {}), "the run has ended", RunIsOver);
  chief.join();
  other.join();
}

TEST_CASE("an elastic run stops only for a task that has stayed, not for one that dies as it starts") {
  const ClusterSpec cluster = cluster_of(3);
  Timeouts timeouts{10, 10};
  timeouts.elastic = true;
  std::atomic<bool> is_second = false, is_over = false;
  const auto survive = [&](int worker) {
    ClusterSpec own = cluster;
    own.task.index = worker;
    Generation next;
    {
      const auto control = ControlPlane::join(own, Security::from({}), handshake(), timeouts);
      error_text([&] { control->get("what never comes"); });
      next = {2, control->lost()};
    }
    const auto control = ControlPlane::join(own, Security::from({}), handshake(), timeouts, {}, next);
    is_second = true;
    for (std::int64_t step = 1; !is_over; ++step) {
      CHECK(control->agree_to_stop(step, 0) == 0);
      std::this_thread::sleep_for(1ms);
    }
    CHECK(control->failure().empty());
    if (worker == 0) CHECK(control->lost() == std::vector<Task>{{Job::kWorker, 2}});
  };
  std::thread chief([&] { survive(0); }), other([&] { survive(1); });
  for (int attempt = 0; attempt < 3; ++attempt) {
    PuppetTask dying(cluster.workers[0], "worker 2", 3);
    if (attempt == 0) dying.wait_for_welcome();
    std::this_thread::sleep_for(attempt == 0 ? 0ms : 300ms);
    dying.call.TryCancel();
    dying.stream->Finish();
    while (!is_second) std::this_thread::sleep_for(1ms);
  }
  std::this_thread::sleep_for(2500ms);  // longer than a task must stay
  is_over = true;
  chief.join();
  other.join();
}

TEST_CASE("a task that is lost again and again comes back after longer and longer") {
  const ClusterSpec cluster = cluster_of(2);
  Timeouts timeouts{10, 10};
  timeouts.elastic = true;
  const auto now = std::chrono::steady_clock::now();
  const Task other{Job::kWorker, 1};
  Generation generation{.number = 5, .lost = {other}, .losses = {{other, now}, {other, now}}};
  // One of long ago, and another task's, do not count.
  generation.losses.push_back({other, now - std::chrono::hours(2)});
  generation.losses.push_back({{Job::kWorker, 0}, now});
  ClusterSpec own = cluster;
  own.task.index = 0;
  std::ostringstream log;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  auto chief = ControlPlane::join(own, Security::from({}), handshake(), timeouts, {}, generation);
  CHECK(chief->losses().size() == 4);
  PuppetTask task(cluster.workers[0], "worker 1", 2);
  std::atomic<bool> is_over = false;
  std::thread heart([&] {
    while (!is_over) {
      task.progress(0, "", 0);
      std::this_thread::sleep_for(500ms);
    }
  });
  std::int64_t step = 1;
  while (chief->agree_to_stop(step, 0) == 0) ++step, std::this_thread::sleep_for(1ms);
  is_over = true;
  heart.join();
  task.call.TryCancel();
  task.stream->Finish();
  chief.reset();  // and its threads, which log
  spdlog::set_default_logger(before);
  CHECK(contains(log.str(), "takes part after the next checkpoint, in 4 s, as it was lost several times"));
}

TEST_CASE("a worker of an elastic run that does not hear the chief for long joins again, however late") {
  ClusterSpec cluster = cluster_of(2);
  cluster.task.index = 1;
  Timeouts timeouts{20, 1};
  timeouts.elastic = true;
  {
    // Welcomes, then is silent, as one whose connection was cut.
    class Mute : public Coordination::Service {
      grpc::Status Session(grpc::ServerContext* call, grpc::ServerReaderWriter<ToTask, FromTask>* stream) override {
        FromTask hello;
        stream->Read(&hello);
        ToTask welcome;
        welcome.mutable_welcome()->set_generation(4);
        stream->Write(welcome);
        while (!call->IsCancelled()) std::this_thread::sleep_for(10ms);
        return grpc::Status::OK;
      }
    } mute;
    grpc::ServerBuilder builder;
    builder.AddListeningPort(cluster.workers[0], grpc::InsecureServerCredentials());
    builder.RegisterService(&mute);
    const auto server = builder.BuildAndStart();
    const auto control = ControlPlane::join(cluster, Security::from({}), handshake(), timeouts);
    CHECK(contains(error_text([&] { control->get("what never comes"); }), std::string(kIsSilent)));
    CHECK(control->regroups());
    CHECK(control->is_cut_off());
    CHECK(control->generation() == 4);
  }
  // Longer than the silence.
  std::thread chief([&] {
    std::this_thread::sleep_for(2500ms);
    ClusterSpec own = cluster;
    own.task.index = 0;
    ControlPlane::join(own, Security::from({}), handshake(), timeouts, {}, {.number = 5, .lost = {}});
  });
  const auto again = ControlPlane::join(cluster, Security::from({}), handshake(), timeouts, {},
                                        {.number = 5, .lost = {}, .was_cut_off = true});
  CHECK(again->generation() == 5);
  chief.join();
}

TEST_CASE("a chief that is suspended between generations is named after its timeout") {
  ClusterSpec cluster = cluster_of(2);
  cluster.task.index = 1;
  Timeouts timeouts{60, 1};
  timeouts.elastic = true;
  const SilentSocket chief(cluster.workers[0]);
  const auto error =
      error_text([&] { ControlPlane::join(cluster, Security::from({}), handshake(), timeouts, {}, {2}); });
  CHECK_MESSAGE(contains(error, "worker 0 (" + cluster.workers[0] + ")" + ", the chief," + std::string(kIsSilent)),
                error);
}

TEST_CASE("a peer that is slow to answer a connection is waited for as long as the call may take") {
  const std::string address = cluster_of(1).workers[0];
  const SilentSocket peer(address);
  const auto stub = Coordination::NewStub(Security::from({}).channel(address));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 1500ms);
  CHECK(stub->Session(&context)->Finish().error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_CASE("a chief that is suspended before all tasks have come is named after its timeout") {
  struct SilentChief final : Coordination::Service {
    grpc::Status Session(grpc::ServerContext* context, grpc::ServerReaderWriter<ToTask, FromTask>*) override {
      while (!context->IsCancelled()) std::this_thread::sleep_for(10ms);
      return grpc::Status::OK;
    }
  } service;
  ClusterSpec cluster = cluster_of(2);
  cluster.task.index = 1;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(cluster.workers[0], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const std::string error = error_text([&] { ControlPlane::join(cluster, Security::from({}), handshake(), {60, 2}); });
  CHECK_MESSAGE(contains(error, "worker 0 (" + cluster.workers[0] + ")" + ", the chief," + std::string(kIsSilent)),
                error);
  server->Shutdown(std::chrono::system_clock::now());
}

TEST_CASE("where an operation fails, the task that is silent or behind is to blame") {
  for (const bool silent : {true, false}) {
    CAPTURE(silent);
    ClusterSpec cluster = cluster_of(2);
    std::atomic<bool> over = false;
    std::thread stalled([&] {
      PuppetTask puppet(cluster.workers[0], "worker 1", 2);
      puppet.wait_for_welcome();
      puppet.progress(5, "a bucket", 1);
      while (!over) {
        std::this_thread::sleep_for(100ms);
        if (!silent) puppet.progress(5, "a bucket", 1);
      }
      ToTask message;
      while (puppet.stream->Read(&message) && !message.has_failure()) {
      }
      CHECK(message.failure().tasks(0) == "worker 1");
      puppet.call.TryCancel();
      puppet.stream->Finish();
    });
    {
      const auto control = ControlPlane::join(cluster, Security::from({}), handshake(), {10, 60});
      for (int i = 0; i < 3; ++i) control->end_operation();
      std::this_thread::sleep_for(silent ? 3000ms : 1300ms);
      const std::string verdict = control->explain("timed out");
      CHECK(contains(verdict, "worker 1 (" + cluster.workers[1] + ")"));
      CHECK(contains(verdict, silent ? "s, last in step 5, in a bucket" : "is behind the others in step 5"));
      over = true;
    }
    stalled.join();
  }
}

/// The tasks that an elastic run continues without after each of `tasks` reports which others it does not reach; -1:
/// the chief is lost.
std::vector<int> expelled(int tasks, const std::vector<std::vector<int>>& unreached, std::string* reason = nullptr) {
  const ClusterSpec cluster = cluster_of(tasks);
  Timeouts timeouts{10, 10};
  timeouts.elastic = true;
  std::vector<int> lost;
  const auto errors = run_tasks(
      cluster,
      [&](int worker, ControlPlane& control) {
        std::vector<Task> others;
        for (const int other : unreached[static_cast<std::size_t>(worker)]) others.push_back({Job::kWorker, other});
        std::this_thread::sleep_for(std::chrono::milliseconds(60 * worker));
        const std::string why = others.empty() ? error_text([&] { control.get("what never comes"); })
                                               : control.explain("timed out", others);
        if (worker > 0) return;
        if (reason != nullptr) *reason = why;
        if (!control.regroups()) lost.push_back(-1);
        for (const Task& task : control.lost()) lost.push_back(task.index);
      },
      [](int) { return handshake(); }, timeouts);
  for (const std::string& error : errors) CHECK(error == "no error");
  return lost;
}

TEST_CASE("of tasks that do not reach each other an elastic run continues without those that fewer can reach") {
  std::string reason;
  CHECK(expelled(3, {{}, {2}, {1}}, &reason) == std::vector<int>{2});
  CHECK(contains(reason, "worker 2 (127.0.0.1:"));
  CHECK(contains(reason, ") and worker 1 (127.0.0.1:"));
  CHECK(contains(reason, ") do not reach each other: timed out"));
  CHECK(expelled(3, {{1}, {}, {}}) == std::vector<int>{1});           // never the chief; one side may notice alone
  CHECK(expelled(4, {{}, {2, 3}, {1}, {1}}) == std::vector<int>{1});  // the one whom two cannot reach
  CHECK(expelled(5, {{3, 4}, {3, 4}, {3, 4}, {0, 1, 2}, {0, 1, 2}}) == std::vector<int>{3, 4});  // the smaller side
}

TEST_CASE("tasks that do not reach each other are both named, also in a run that ends") {
  const auto errors = run_tasks(cluster_of(3), [&](int worker, ControlPlane& control) {
    const Task other{Job::kWorker, 2};
    if (worker == 1) throw Error(control.explain("timed out", std::span(&other, 1)));
    control.get("what never comes");
  });
  for (const std::string& error : errors) {
    CHECK(error.starts_with("worker 2 (127.0.0.1:"));
    CHECK(contains(error, ") and worker 1 (127.0.0.1:"));
    CHECK(contains(error, ") do not reach each other: timed out"));
  }
}

TEST_CASE("tasks end after the same step, at whichever of them a signal comes") {
  for (const int signalled : {0, 2}) {
    std::vector<std::int64_t> last(3);
    const auto errors = run_tasks(cluster_of(3), [&](int worker, ControlPlane& control) {
      for (std::int64_t step = 0; step < 100000; ++step) {
        const int own = worker == signalled && step >= 20 ? 15 : 0;
        if (const int signal = control.agree_to_stop(step, own); signal != 0) {
          CHECK(signal == 15);
          last[static_cast<std::size_t>(worker)] = step;
          break;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200 * (worker + 1)));  // nobody waits for anybody
      }
    });
    for (const std::string& error : errors) CHECK(error == "no error");
    CHECK(last[0] >= 20);
    CHECK(last[0] == last[1]);
    CHECK(last[0] == last[2]);
  }
}

TEST_CASE("a peer without the token is refused, and what is no gRPC does no harm") {
  const TemporaryFolder folder;
  const auto secured = [&](const std::string& token) {
    ClusterOptions options;
    options.token_file = config::Path{(folder / token).string()};
    std::ofstream(options.token_file->text) << token << "\n";
    return Security::from(options);
  };
  ClusterSpec chief = cluster_of(2), other = chief;
  other.task.index = 1;
  std::string error;
  std::thread intruder([&] {
    PuppetTask puppet(chief.workers[0], "worker 1", 2);  // without any token
    puppet.wait_for_welcome();
    CHECK(puppet.stream->Finish().error_code() == grpc::StatusCode::UNAUTHENTICATED);
    error = error_text([&] { ControlPlane::join(other, secured("wrong"), handshake(), {10, 10}); });
    const int scanner = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(chief.workers[0].substr(10))));
    REQUIRE(::connect(scanner, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    const std::string bytes(5000, '\xff');
    (void)!::write(scanner, bytes.data(), bytes.size());
    ::close(scanner);
    const auto control = ControlPlane::join(other, secured("secret"), handshake(), {10, 10});
    control->put("key", "value");
  });
  const auto control = ControlPlane::join(chief, secured("secret"), handshake(), {10, 10});
  CHECK(control->get("key") == "value");
  intruder.join();
  CHECK(contains(error, "strategy.cluster.token_file"));
}

TEST_CASE("a token of the environment is as good as a file's") {
  const auto security = [](std::optional<std::string> token) {
    return Security::from(
        {}, [token](const std::string& name) { return name == "MIRRORTRAIN_TOKEN" ? token : std::nullopt; });
  };
  CHECK(security("secret").has_token());
  CHECK_FALSE(security("").has_token());
  CHECK_FALSE(security(std::nullopt).has_token());
  CHECK(error_text([&] { security("two\nlines"); }) ==
        "MIRRORTRAIN_TOKEN: expected one line of printable ASCII characters");
}

TEST_CASE("an address in use, a chief that never comes and two processes as one task are errors that say so") {
  ClusterSpec cluster = cluster_of(2);
  ClusterSpec other = cluster;
  other.task.index = 1;
  CHECK(contains(error_text([&] {
                   ControlPlane::join(other, Security::from({}), handshake(), {0.3, 10});
                 }),
                 "worker 1: worker 0 (" + cluster.workers[0] +
                     "), the chief, has not been heard from within 0.3 s: it has "
                     "not started"));
  other.workers[0] = "no-such-host.invalid:2222";
  CHECK(contains(error_text([&] {
                   ControlPlane::join(other, Security::from({}), handshake(), {0.3, 10});
                 }),
                 "its name has no address here (no-such-host.invalid: "));
  CHECK(contains(error_text([&] {
                   ControlPlane::join(cluster, Security::from({}), handshake(), {0.5, 10});
                 }),
                 "not every task of the cluster (TF_CONFIG) has joined within 0.5 s"));
  ClusterSpec alone = cluster_of(1);
  const auto control = ControlPlane::join(alone, Security::from({}), handshake(), {10, 10});
  CHECK(contains(error_text([&] {
                   ControlPlane::join(alone, Security::from({}), handshake(), {10, 10});
                 }),
                 "cannot listen at its address in TF_CONFIG: another process has the port"));
  alone.workers[0] = "192.0.2.1:2222";  // of no machine
  CHECK(contains(error_text([&] {
                   ControlPlane::join(alone, Security::from({}), handshake(), {10, 10});
                 }),
                 "the host is not this machine: 192.0.2.1 is no address of it"));
}

}  // namespace
}  // namespace mirrortrain::rpc
