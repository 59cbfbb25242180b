#include "cluster/environments.h"

using namespace mirrortrain;
using mirrortrain::testing::discovered;
using mirrortrain::testing::refusal;

namespace {

std::optional<ClusterSpec> read(const std::string& json) { return discovered({{"TF_CONFIG", json}}); }
std::string error_of(const std::string& json) { return refusal({{"TF_CONFIG", json}}); }

const std::string kTask = R"("task": {"type": "worker", "index": 0})";

/// The error of a cluster, whatever the task.
std::string error_in(const std::string& jobs) { return error_of(R"({"cluster": {)" + jobs + "}, " + kTask + "}"); }

}  // namespace

TEST_CASE("a TF_CONFIG of every job is read, in whatever order and with keys of others") {
  const auto cluster = read(R"({
    "environment": "cloud", "rpc_layer": "grpc", "task": {"type": "ps", "index": 1, "trial": "3"},
    "cluster": {"worker": ["w0.train.svc:2222", "w1:2222"], "ps": ["p0:1", "p1:65535"],
                "evaluator": ["e:2222"], "chief": ["[fe80::1%eth0]:2222"]}})");
  REQUIRE(cluster.has_value());
  CHECK(cluster->chief == "[fe80::1%eth0]:2222");
  CHECK(cluster->workers == std::vector<std::string>{"w0.train.svc:2222", "w1:2222"});
  CHECK(cluster->ps == std::vector<std::string>{"p0:1", "p1:65535"});
  CHECK(cluster->evaluator == "e:2222");
  CHECK(cluster->task == Task{Job::kPs, 1});
  CHECK(cluster->source == "TF_CONFIG");
  CHECK_FALSE(cluster->mpi);
}

TEST_CASE("the index may be a text, and a job a mapping from indices, as in TensorFlow") {
  const auto cluster =
      read(R"({"cluster": {"worker": {"1": "b:1", "0": "a:1"}}, "task": {"type": "worker", "index": "1"}})");
  REQUIRE(cluster.has_value());
  CHECK(cluster->workers == std::vector<std::string>{"a:1", "b:1"});
  CHECK(cluster->task == Task{Job::kWorker, 1});
  CHECK_FALSE(cluster->is_chief());
  CHECK(read(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0.0}})")->task.index == 0);
}

TEST_CASE("a single worker, or a chief alone, is a cluster of one") {
  CHECK(read(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})")->trainers().size() == 1);
  const auto chief = read(R"({"cluster": {"chief": ["a:1"], "ps": []}, "task": {"type": "chief", "index": 0}})");
  CHECK(chief->trainers().size() == 1);
  CHECK(chief->is_chief());
}

TEST_CASE("an evaluator outside of the cluster knows its own task") {
  const auto cluster = read(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator", "index": 0}})");
  REQUIRE(cluster.has_value());
  CHECK(cluster->task == Task{Job::kEvaluator, 0});
  CHECK(cluster->evaluator == "");
  CHECK(error_of(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "evaluator", "index": 1}})") ==
        "TF_CONFIG: task.index: expected an index from 0 to 0, found 1: the cluster has 1 task under "
        "cluster.evaluator");
}

TEST_CASE("a TF_CONFIG without a cluster is as good as none") {
  for (const char* json : {"", "{}", R"({"cluster": {}})", R"({"task": {"type": "worker", "index": 3}})"}) {
    CAPTURE(json);
    CHECK_FALSE(read(json).has_value());
  }
  const auto next = discovered({{"TF_CONFIG", "{}"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  CHECK(next->source == "mpirun");
}

TEST_CASE("what is no JSON is refused with its place in the text") {
  CHECK(error_of(" ") ==
        "TF_CONFIG: expected JSON, found its end at character 2 of \" \"; in a shell, put the value in single quotes, "
        "as in TF_CONFIG='{\"cluster\": ...}'");
  CHECK(error_of("{cluster: 1}").starts_with("TF_CONFIG: expected JSON, found 'c' at character 2 of \"{cluster: 1}\""));
  CHECK(error_of("{} {}").starts_with("TF_CONFIG: expected JSON, found '{' at character 4"));
  CHECK(error_of("[1]") == "TF_CONFIG: expected a mapping, found [1]");
  CHECK(error_of(std::string(100000, '[')).starts_with("TF_CONFIG: expected JSON, found its end"));
  CHECK(error_of("{\"cluster\": \"\xff\"}").starts_with("TF_CONFIG: expected JSON"));
  CHECK(error_of("{\"cluster\": 1e999}").starts_with("TF_CONFIG: expected JSON that can be read: "));
}

TEST_CASE("a mapping of more tasks than a cluster may have is refused") {
  std::string tasks = "\"0\": \"a:1\"";
  for (int i = 1; i <= 65536; ++i) tasks += ", \"" + std::to_string(i) + "\": \"a:1\"";
  CHECK(error_in("\"worker\": {" + tasks + "}") == "TF_CONFIG: cluster.worker: expected at most 65536 tasks");
}

TEST_CASE("every wrong address is refused with its place and the remedy") {
  const std::pair<const char*, const char*> rows[] = {
      {"10.0.0.2", "found \"10.0.0.2\"; add the port that this task is to listen on, as in 10.0.0.2:2222"},
      {"10.0.0.2:", "add the port"},
      {"[::1]", "add the port that this task is to listen on, as in [::1]:2222"},
      {"::1:2222", "write an IPv6 address in brackets, as in [::1]:2222"},
      {":2222", "name the host, as in 10.0.0.2:2222"},
      {"", "name the host"},
      {"[]:2222", "name the host"},
      {"[::1]x:2222", "name the host"},
      {"a b:2222", "a host is made of letters"},
      {"a:2222 ", "the port is a whole number from 1 to 65535"},
      {"a:port", "the port is a whole number"},
      {"a:-1", "ports end at 65535"},
      {"a:65536", "ports end at 65535"},
      {"a:99999999999999999999", "the port is a whole number"},
      {"a:0", "other tasks cannot know a port that the system chooses"},
      {"grpc://a:2222", "leave out \"grpc://\""},
  };
  for (const auto& [address, remedy] : rows) {
    CAPTURE(address);
    const std::string error = error_in(std::string(R"("worker": ["a:1", ")") + address + "\"]");
    CHECK(error.starts_with("TF_CONFIG: cluster.worker[1]: expected host:port, found \""));
    CHECK(error.find(remedy) != std::string::npos);
  }
}

TEST_CASE("what is invisible in an address is shown, and ends no message") {
  for (const std::string cluster : {R"({"worker": ["a:4100\u0000", "b:1"]})", R"({"worker": {"0\u0000": "a:1"}})"}) {
    const std::string error = error_of(R"({"cluster": )" + cluster + R"(, "task": {"type": "worker", "index": 0}})");
    CHECK(error.find('\0') == std::string::npos);
    CHECK_MESSAGE(
        error.find(cluster[11] == '[' ? "\"a:4100\\x00\"; the port is" : "\"0\\x00\"; every") != std::string::npos,
        error);
  }
}

TEST_CASE("a cluster that cannot be is refused at the key to blame") {
  const std::pair<const char*, const char*> rows[] = {
      {R"("worker": ["a:1", "b:1", "A:1"])",
       "cluster.worker: worker 0 and worker 2 both have the address A:1; give each task a port of its own"},
      {R"("worker": ["a:1"], "ps": ["a:1"])", "cluster.ps: worker 0 and ps 0 both have the address a:1; "},
      {R"("worker": ["a:1"], "chief": ["b:1", "c:1"])", "cluster.chief: expected at most one, found 2"},
      {R"("worker": ["a:1"], "evaluator": ["b:1", "c:1"])", "cluster.evaluator: expected at most one, found 2"},
      {R"("ps": ["a:1"])", "cluster.worker: expected the workers' addresses, found none"},
      {R"("worker": [])", "cluster.worker: expected the workers' addresses, found none"},
      {R"("chief": ["a:1"], "ps": ["b:1"])",
       "cluster.worker: expected the workers' addresses, found none; parameter servers serve workers"},
      {R"("chief": ["a:1"])",
       "task.type: this process is worker 0, but the cluster has no cluster.worker, only cluster.chief; correct the"},
      {R"("wroker": ["a:1"])", "cluster: expected chief, worker, ps or evaluator, found \"wroker\"; did you mean"},
      {R"("master": ["a:1"])", "cluster: `master` was TensorFlow 1's name of the chief; write `chief`"},
      {R"("worker": "a:1")", "cluster.worker: expected a list of host:port, found \"a:1\""},
      {R"("worker": null)", "cluster.worker: expected a list of host:port, found null"},
      {R"("worker": ["a:1", 2222])", "cluster.worker[1]: expected host:port, found 2222; write it as a string"},
      {R"("worker": {"0": "a:1", "2": "b:1"})", "cluster.worker: expected the indices 0 to 1, found \"2\"; every"},
      {R"("worker": {"0": "a:1", "00": "b:1"})", "cluster.worker: expected the indices 0 to 1, found \"00\"; every"},
      {R"("worker": {"x": "a:1"})", "cluster.worker: expected the indices 0 to 0, found \"x\"; every"},
      {R"("worker": ["a:1"], "worker": ["b:1"])", "the key 'worker' is listed twice in one mapping; write it once"},
  };
  for (const auto& [jobs, message] : rows) {
    CAPTURE(jobs);
    const std::string error = error_in(jobs);
    CAPTURE(error);
    CHECK(error.starts_with(std::string("TF_CONFIG: ") + message));
  }
  CHECK(error_of(R"({"cluster": ["a:1"]})").starts_with("TF_CONFIG: cluster: expected a mapping from jobs to"));
}

TEST_CASE("a task that is missing, unknown or outside of the cluster is refused") {
  const std::pair<const char*, const char*> rows[] = {
      {R"({})", "missing key 'task', which process of the cluster this is, as in {\"type\": \"worker\", "},
      {R"({"task": "worker"})", "task: expected a mapping such as {\"type\": \"worker\", \"index\": 0}, found"},
      {R"({"task": {"index": 0}})", "task: missing key 'type', as in {"},
      {R"({"task": {"type": "worker"}})", "task: missing key 'index', as in {"},
      {R"({"task": {"type": 3, "index": 0}})", "task.type: expected the name of a job, found 3"},
      {R"({"task": {"type": "workers", "index": 0}})", "task.type: expected chief, worker, ps or evaluator, found \"w"},
      {R"({"task": {"type": "master", "index": 0}})", "task.type: `master` was TensorFlow 1's name"},
      {R"({"task": {"type": "ps", "index": 0}})", "task.type: this process is ps 0, but the cluster has no cluster.ps"},
      {R"({"task": {"type": "worker", "index": 2}})",
       "task.index: expected an index from 0 to 1, found 2: the cluster has 2 tasks under cluster.worker"},
      {R"({"task": {"type": "worker", "index": -1}})", "task.index: expected a whole number from 0, found -1"},
      {R"({"task": {"type": "worker", "index": 0.5}})", "task.index: expected a whole number from 0, found 0.5"},
      {R"({"task": {"type": "worker", "index": "one"}})", "task.index: expected a whole number from 0, found \"one\""},
      {R"({"task": {"type": "worker", "index": 1e300}})", "task.index: expected a whole number from 0, found 1e+300"},
      {R"({"task": {"type": "worker", "index": null}})", "task.index: expected a whole number from 0, found null"},
  };
  for (const auto& [task, message] : rows) {
    CAPTURE(task);
    std::string json = task;
    json.insert(1, std::string(R"("cluster": {"worker": ["a:1", "b:1"]})") + (json == "{}" ? "" : ", "));
    const std::string error = error_of(json);
    CAPTURE(error);
    CHECK(error.starts_with(std::string("TF_CONFIG: ") + message));
  }
}

// What TensorFlow's tests of its TFConfigClusterResolver read.
TEST_CASE("a TF_CONFIG of TensorFlow's tests gives the same tasks and addresses") {
  const std::string cluster =
      R"({"cluster": {"ps": ["ps0:2222", "ps1:2222"], "worker": ["worker0:2222", "worker1:2222", "worker2:2222"]},)";
  for (const char* index : {"1", R"("1")"}) {
    const auto found = discovered(
        {{"TF_CONFIG", cluster + R"("rpc_layer": "grpc", "task": {"type": "ps", "index": )" + index + "}}"}});
    REQUIRE(found.has_value());
    CHECK(found->ps == std::vector<std::string>{"ps0:2222", "ps1:2222"});
    CHECK(found->workers == std::vector<std::string>{"worker0:2222", "worker1:2222", "worker2:2222"});
    CHECK(found->task == Task{Job::kPs, 1});
    CHECK(found->address({Job::kWorker, 1}) == "worker1:2222");
  }
  CHECK_FALSE(discovered({{"TF_CONFIG", "{}"}}).has_value());
}
