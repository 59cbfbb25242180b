#include "launch/launch_plan.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

#include "base/json.h"
#include "error_text.h"
#include "launch/cores.h"
#include "launch/loopback_ports.h"
#include "launched.h"

namespace mirrortrain::launch {
namespace {

using nlohmann::json;

std::vector<std::string> hosts_of(const Plan& plan) {
  std::vector<std::string> hosts;
  for (const PlacedTask& task : plan.tasks) hosts.push_back(task.host);
  return hosts;
}

TEST_CASE("on this machine tasks get the ports given, and workers their share of the cores") {
  const std::vector<int> ports = {5001, 5002}, cores = {1, 3, 4, 6, 7};
  LaunchOptions options{.workers = 2};
  const Plan plan = make_plan(options, ports, cores);
  CHECK(plan.cluster.workers == std::vector<std::string>{"127.0.0.1:5001", "127.0.0.1:5002"});
  CHECK_FALSE(plan.cluster.chief);
  REQUIRE(plan.tasks.size() == 2);
  CHECK(plan.tasks[0].cores == std::vector<int>{1, 3});
  CHECK(plan.tasks[1].cores == std::vector<int>{4, 6});  // as many for each
  CHECK(make_plan(options, ports, std::vector{1}).tasks[0].cores.empty());
  options.pin = false;
  CHECK(make_plan(options, ports, cores).tasks[0].cores.empty());
}

TEST_CASE("with servers there is a chief, and the workers alone share the cores") {
  const LaunchOptions options{.workers = 2, .ps = 1, .evaluator = true};
  CHECK(count_tasks(options) == 5);
  const Plan plan = make_plan(options, std::vector{1, 2, 3, 4, 5}, std::vector{0, 1});
  std::vector<std::string> names;
  std::size_t pinned = 0;
  for (const PlacedTask& task : plan.tasks) {
    names.push_back(task.task.text());
    pinned += task.cores.size();
    CHECK(task.cores.empty() == (task.task.job != Job::kWorker));
  }
  CHECK(names == std::vector<std::string>{"chief", "worker 0", "worker 1", "ps 0", "evaluator"});
  CHECK(pinned == 2);
  CHECK(parse_json<json>(tf_config(plan.cluster, {Job::kPs, 0})) == parse_json<json>(R"({
    "cluster": {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2", "127.0.0.1:3"], "ps": ["127.0.0.1:4"],
                "evaluator": ["127.0.0.1:5"]},
    "task": {"type": "ps", "index": 0}})"));
}

TEST_CASE("tasks are dealt to hosts in order, larger parts first, with ports that follow each other on each") {
  LaunchOptions options{.hosts = {"a", "me@b"}, .port = 3000};
  CHECK(hosts_of(make_plan(options, {}, {})) == std::vector<std::string>{"a", "me@b"});
  options.workers = 3;
  Plan plan = make_plan(options, {}, std::vector{0, 1, 2, 3});
  CHECK(hosts_of(plan) == std::vector<std::string>{"a", "a", "me@b"});
  CHECK(plan.cluster.workers == std::vector<std::string>{"a:3000", "a:3001", "b:3000"});
  CHECK(plan.tasks[0].cores.empty());
  options.workers = 2;
  options.ps = 2;
  plan = make_plan(options, {}, {});
  CHECK(hosts_of(plan) == std::vector<std::string>{"a", "a", "me@b", "a", "me@b"});
  CHECK(plan.cluster.chief == "a:3000");
  CHECK(plan.cluster.ps == std::vector<std::string>{"a:3002", "b:3001"});
  CHECK(make_plan({.hosts = {"b", "me@b"}}, {}, {}).cluster.workers == std::vector<std::string>{"b:2222", "b:2223"});
  CHECK(error_text([] { make_plan({.workers = 2, .hosts = {"a"}, .port = 65535}, {}, {}); }) ==
        "--port: a's last task would have port 65536; give a lower one");
  CHECK(make_plan({.hosts = {"fe80::1"}}, {}, {}).cluster.workers[0] == "[fe80::1]:2222");
}

TEST_CASE("workers of one host are numbered, so that they divide its GPUs, unless nothing is to be divided") {
  const auto numbers_of = [](const LaunchOptions& options) {
    std::vector<std::string> numbers;
    for (const PlacedTask& task : make_plan(options, std::vector{1, 2, 3, 4, 5}, {}).tasks) {
      numbers.push_back(std::to_string(task.local_rank) + "/" + std::to_string(task.local_size));
    }
    return numbers;
  };
  using Numbers = std::vector<std::string>;
  CHECK(numbers_of({.workers = 2}) == Numbers{"0/2", "1/2"});
  CHECK(numbers_of({.workers = 2, .ps = 1}) == Numbers{"0/1", "0/2", "1/2", "0/1"});
  CHECK(numbers_of({.workers = 3, .hosts = {"a", "me@b"}}) == Numbers{"0/2", "1/2", "0/1"});
  CHECK(numbers_of({.workers = 2, .hosts = {"b", "me@b"}}) == Numbers{"0/2", "1/2"});
  CHECK(numbers_of({.workers = 2, .pin = false}) == Numbers{"0/1", "0/1"});
  const LaunchOptions two{.workers = 2, .executable = "m"};
  const Plan plan = make_plan(two, std::vector{1, 2}, {});
  const std::vector<std::string> words = {"fit", "a.yaml"};
  CHECK(printed(plan, plan.tasks[1], two, words)
            .starts_with("# worker 1\nMIRRORTRAIN_LOCAL_RANK=1 MIRRORTRAIN_LOCAL_SIZE=2 TF_CONFIG="));
  const ProcessOptions process = process_of(plan, plan.tasks[1], two, "m", words);
  REQUIRE(process.variables.size() == 2);
  CHECK(process.variables[0].name == "MIRRORTRAIN_LOCAL_RANK");
  CHECK(process.variables[0].value == "1");
}

TEST_CASE("a launch without workers is refused") {
  CHECK(error_text([] { count_tasks({}); }) == "launch: give --workers N, or --hosts for one worker on each");
}

TEST_CASE("a printed task is a line that a shell runs as that task") {
  testing::LaunchFolder tasks("echo \"$me $TF_CONFIG $*\"\n");
  const LaunchOptions options{.workers = 1, .executable = (tasks.folder / "task.sh").string()};
  const Plan plan = make_plan(options, std::vector{7}, {});
  const std::vector<std::string> words = {"fit", "a b.yaml"};
  const std::string text = printed(plan, plan.tasks[0], options, words);
  CHECK(text.starts_with("# worker 0\nTF_CONFIG="));
  CHECK(tasks.run(text).out == "worker0 " + tf_config(plan.cluster, plan.tasks[0].task) + " fit a b.yaml\n");
}

TEST_CASE("a server can listen on ports that are kept for it, and no other program is given them") {
  const LoopbackPorts ports(3);
  CHECK(std::set<int>(ports.numbers().begin(), ports.numbers().end()).size() == 3);
  const auto listens = [&](int reuse) {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address{.sin_family = AF_INET,
                              .sin_port = htons(static_cast<std::uint16_t>(ports.numbers()[0])),
                              .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
           ::listen(socket.get(), 8) == 0;
  };
  CHECK(listens(1));
  CHECK_FALSE(listens(0));
}

TEST_CASE("cores are restricted for a while") {
  cpu_set_t before, within, after;
  ::sched_getaffinity(0, sizeof before, &before);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  {
    const OnCores one(std::vector{first});
    ::sched_getaffinity(0, sizeof within, &within);
  }
  ::sched_getaffinity(0, sizeof after, &after);
  CHECK(CPU_COUNT(&within) == 1);
  CHECK(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace mirrortrain::launch
