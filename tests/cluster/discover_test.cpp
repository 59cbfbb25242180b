#include "cluster/environments.h"
#include "config/document.h"

using namespace mirrortrain;
using mirrortrain::testing::discovered;
using mirrortrain::testing::environment_of;
using mirrortrain::testing::refusal;
using mirrortrain::testing::Variables;

namespace {

const std::string kTfConfig = R"({"cluster": {"worker": ["t0:1", "t1:1"]}, "task": {"type": "worker", "index": 1}})";
const Variables kEverything = {
    {"TF_CONFIG", kTfConfig},
    {"OMPI_COMM_WORLD_RANK", "1"},
    {"OMPI_COMM_WORLD_SIZE", "2"},
    {"SLURM_STEP_ID", "0"},
    {"SLURM_JOB_ID", "1"},
    {"SLURM_PROCID", "1"},
    {"SLURM_STEP_NUM_TASKS", "2"},
    {"SLURM_STEP_NODELIST", "n[1-2]"},
    {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
    {"RANK", "1"},
    {"WORLD_SIZE", "2"},
    {"MASTER_ADDR", "m"},
    {"MASTER_PORT", "29500"},
    {"SM_HOSTS", R"(["a", "b"])"},
    {"SM_CURRENT_HOST", "b"},
};

ClusterOptions two_workers() {
  ClusterOptions options;
  options.workers = {{"f0", 1}, {"f1", 1}};
  options.task = TaskOptions{Job::kWorker, 1};
  return options;
}

/// A file whose whole text is the section.
std::string errors_of(const std::string& text, ClusterOptions* read = nullptr) {
  config::Errors errors;
  config::Document document = config::load_text(text, "a.yaml", {}, errors);
  const auto options = config::read<ClusterOptions>(document, errors);
  if (read != nullptr) *read = options;
  return errors.empty() ? "" : errors.text();
}

}  // namespace

TEST_CASE("the first of TF_CONFIG, mpirun, srun, torchrun, SageMaker and the file gives the cluster") {
  Variables left = kEverything;
  const std::pair<const char*, std::vector<std::string>> order[] = {
      {"TF_CONFIG", {"TF_CONFIG"}}, {"mpirun", {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}},
      {"srun", {"SLURM_STEP_ID"}},  {"torchrun", {"RANK"}},
      {"SM_HOSTS", {"SM_HOSTS"}},   {"strategy.cluster", {}},
  };
  for (const auto& [source, variables] : order) {
    const auto cluster = discovered(left, two_workers());
    REQUIRE(cluster.has_value());
    CHECK(cluster->source == source);
    CHECK(cluster->workers.size() == 2);
    CHECK(cluster->task == Task{Job::kWorker, 1});
    for (const std::string& variable : variables) left.erase(variable);
  }
  CHECK_FALSE(discovered(left).has_value());
}

TEST_CASE("where srun or mpirun started torchrun's agent, its variables say which task a process is") {
  Variables nested = kEverything;
  nested.erase("TF_CONFIG");
  nested["TORCHELASTIC_RUN_ID"] = "none";
  nested["RANK"] = "3";
  nested["WORLD_SIZE"] = "4";
  const auto cluster = discovered(nested);
  REQUIRE(cluster.has_value());
  CHECK(cluster->source == "torchrun");
  CHECK(cluster->workers.size() == 4);
  CHECK(cluster->task == Task{Job::kWorker, 3});
}

TEST_CASE("the environment describes several processes or one") {
  Variables left = kEverything;
  const auto said = [&] { return several_processes(environment_of(left)).value_or("one"); };
  CHECK(said() == "TF_CONFIG lists 2 tasks");
  left.erase("TF_CONFIG");
  CHECK(said() == "mpirun started 2 processes");
  CHECK(several_processes(environment_of({{"SM_HOSTS", R"(["a", "b"])"}, {"SM_CURRENT_HOST", "b"}})) ==
        "SM_HOSTS lists 2 tasks");
  CHECK_FALSE(several_processes(environment_of({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}})));
  CHECK_FALSE(several_processes(environment_of({})).has_value());
}

TEST_CASE("variables of torchrun that are empty are not set") {
  CHECK_FALSE(discovered({{"RANK", ""}, {"WORLD_SIZE", ""}, {"MASTER_ADDR", ""}, {"MASTER_PORT", ""}}).has_value());
}

TEST_CASE("tasks of the file are read, and refused where this process's is not told") {
  const auto cluster = discovered({}, two_workers());
  CHECK(cluster->workers == std::vector<std::string>{"f0:1", "f1:1"});
  ClusterOptions options = two_workers();
  options.task.reset();
  CHECK(refusal({}, options).starts_with("strategy.cluster.task: expected which of the cluster's tasks this process"));
  CHECK_FALSE(discovered({{"TF_CONFIG", kTfConfig}}, options)->source != "TF_CONFIG");
}

TEST_CASE("a section of a cluster is read as it is written") {
  ClusterOptions options;
  CHECK(errors_of("chief: 'c:1'\nworkers: [a:2222, '[::1]:2223']\nps: [p:1]\ntask: {type: worker, index: 1}\n",
                  &options) == "");
  REQUIRE(options.workers.size() == 2);
  CHECK(options.workers[1].host == "::1");
  CHECK(options.workers[1].port == 2223);
  CHECK(options.workers[1].text() == "[::1]:2223");
  CHECK(options.tasks()->describe({Job::kChief, 0}) == "chief (c:1)");
  CHECK(errors_of("{}") == "");
  CHECK(errors_of("workers: [a:1, b:1]\n") == "");  // the task may come from elsewhere
  CHECK(errors_of("token_file: secret\n") == "");
}

TEST_CASE("what the file alone shows to be wrong is an error at its place") {
  const std::pair<const char*, const char*> rows[] = {
      {"workers: [a:1, 10.0.0.2]\n", "a.yaml:1:16: workers[1]: expected host:port, found \"10.0.0.2\"; add the port"},
      {"workers: [a:0]\n", "a.yaml:1:11: workers[0]: expected host:port, found \"a:0\"; other tasks cannot know"},
      {"chief: a:99999\nworkers: [b:1]\n", "a.yaml:1:8: chief: expected host:port, found \"a:99999\"; ports end"},
      {"workers:\n- a:1\n- b:1\n- a:1\n", "a.yaml:2:1: workers: worker 0 and worker 2 both have the address a:1"},
      {"workers: [a:1]\nevaluator: a:1\n", "a.yaml:2:12: evaluator: worker 0 and evaluator both have the address a:1"},
      {"chief: a:1\nps: [b:1]\n",
       "a.yaml:1:1: workers: expected the workers' addresses, found none; parameter servers"},
      {"ps: [b:1]\n", "a.yaml:1:1: workers: expected the workers' addresses, found none"},
      {"task: {index: 1}\n", "a.yaml:1:7: task: names a task, but no workers are listed"},
      {"workers: [a:1]\ntask: {index: 1}\n",
       "a.yaml:2:7: task: expected an index from 0 to 0, found 1: the cluster has 1 task under workers"},
      {"workers: [a:1]\ntask: {type: ps}\n",
       "a.yaml:2:7: task: this process is ps 0, but the cluster has no ps, only workers"},
      {"workers: [a:1]\ntask: {index: 70000}\n", "a.yaml:2:15: task.index: expected an integer between 0 and 65535"},
      {"workers: a:1\n", "a.yaml:1:10: workers: expected a list"},
  };
  for (const auto& [text, message] : rows) {
    CAPTURE(text);
    const std::string errors = errors_of(text);
    CAPTURE(errors);
    CHECK(errors.starts_with(message));
    CHECK(errors.ends_with("\n1 error"));
  }
  CHECK(errors_of("workers: [a, b]\n").ends_with("\n2 errors"));
}
