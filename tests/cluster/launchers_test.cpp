// Clusters that mpirun, srun and torchrun tell through the environment.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/environments.h"
#include "cluster/reachable_host.h"
#include "cluster/sources/slurm_lists.h"

using namespace mirrortrain;
using mirrortrain::testing::discovered;
using mirrortrain::testing::refusal;
using mirrortrain::testing::Variables;

namespace {

using Texts = std::vector<std::string>;

Variables with(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

/// Five tasks on three nodes; task 3 is the second one's second.
const Variables kStep = {
    {"SLURM_JOB_ID", "100"},
    {"SLURM_STEP_ID", "2"},
    {"SLURM_STEPID", "2"},
    {"SLURM_PROCID", "3"},
    {"SLURM_NODEID", "1"},
    {"SLURM_STEP_NUM_TASKS", "5"},
    {"SLURM_STEP_NODELIST", "n[01-02],big"},
    {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
};

const Variables kTorchrun = {{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};

}  // namespace

TEST_CASE("mpirun's processes are workers without addresses") {
  for (const auto& [rank, size] :
       {std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, std::pair{"PMI_RANK", "PMI_SIZE"}}) {
    const auto cluster = discovered({{rank, "2"}, {size, "4"}});
    REQUIRE(cluster.has_value());
    CHECK(cluster->workers == Texts(4));
    CHECK(cluster->task == Task{Job::kWorker, 2});
    CHECK(cluster->source == "mpirun");
    CHECK(cluster->mpi);
    CHECK(refusal({{rank, "2"}}) == std::string(size) + " is not set, which mpirun sets beside " + rank);
    CHECK(refusal({{rank, "4"}, {size, "4"}})
              .starts_with(std::string(rank) + ": expected a whole number from 0 to 3, found \"4\""));
    CHECK(refusal({{rank, "0"}, {size, "x"}}).starts_with(std::string(size) + ": expected a whole number from 1"));
  }
}

TEST_CASE("PMI's variables of srun itself are left to srun's own, those of another launcher in a step are not") {
  CHECK(discovered(with(kStep, {{"PMI_RANK", "3"}, {"PMI_SIZE", "5"}}))->source == "srun");
  CHECK(discovered(with(kStep, {{"PMI_RANK", "7"}, {"PMI_SIZE", "10"}}))->source == "mpirun");
}

TEST_CASE("srun's tasks are workers on the step's nodes, at ports that follow from job and step") {
  const auto cluster = discovered(kStep);
  REQUIRE(cluster.has_value());
  CHECK(cluster->source == "srun");
  CHECK_FALSE(cluster->mpi);
  CHECK(cluster->task == Task{Job::kWorker, 3});
  // 12000 + 100 + 2 * 997
  CHECK(cluster->workers == Texts{"n01:14094", "n01:14095", "n02:14094", "n02:14095", "big:14094"});
  CHECK(discovered(with(kStep, {{"MIRRORTRAIN_PORT", "5000"}}))->workers[3] == "n02:5001");
  const auto largest = discovered(with(kStep, {{"SLURM_JOB_ID", "4294967295"}}))->workers[1];
  CHECK(std::stoi(largest.substr(4)) < 32768);
}

TEST_CASE("a cyclic distribution deals tasks to the nodes in turn") {
  const auto cluster = discovered(with(kStep, {{"SLURM_DISTRIBUTION", "cyclic:block"}, {"SLURM_NODEID", "0"}}));
  CHECK(cluster->workers == Texts{"n01:14094", "n02:14094", "big:14094", "n01:14095", "n02:14095"});
}

TEST_CASE("outside of a step that srun started there is no cluster") {
  CHECK_FALSE(discovered(without(without(kStep, "SLURM_STEP_ID"), "SLURM_STEPID")).has_value());
  for (const char* own : {"4294967291", "4294967290", "4294967292"}) {  // batch script, interactive shell, extern
    CHECK_FALSE(discovered(with(kStep, {{"SLURM_STEP_ID", own}})).has_value());
  }
  CHECK(discovered(without(kStep, "SLURM_STEP_ID"))->workers.size() == 5);
}

TEST_CASE("a step's variables that do not fit each other are refused by name") {
  const std::pair<Variables, const char*> rows[] = {
      {without(kStep, "SLURM_PROCID"), "SLURM_PROCID is not set, which srun sets beside SLURM_STEP_ID"},
      {without(kStep, "SLURM_STEP_NODELIST"), "SLURM_STEP_NODELIST is not set"},
      {without(kStep, "SLURM_JOB_ID"), "SLURM_JOB_ID is not set"},
      {with(kStep, {{"SLURM_PROCID", "5"}}), "SLURM_PROCID: expected a whole number from 0 to 4, found \"5\""},
      {with(kStep, {{"SLURM_STEP_ID", "two"}}), "SLURM_STEP_ID: expected a whole number"},
      {with(kStep, {{"SLURM_STEP_TASKS_PER_NODE", "2(x3)"}}),
       "SLURM_STEP_TASKS_PER_NODE: expected 5 tasks (SLURM_STEP_NUM_TASKS) on 3 nodes"},
      {with(kStep, {{"SLURM_STEP_TASKS_PER_NODE", "5"}}), "SLURM_STEP_TASKS_PER_NODE: expected 5 tasks"},
      {with(kStep, {{"SLURM_STEP_TASKS_PER_NODE", "2147483647(x3)"}}), "SLURM_STEP_TASKS_PER_NODE: expected 5 tasks"},
      {with(kStep, {{"SLURM_NODEID", "2"}}), "SLURM_NODEID: expected 1, where task 3 is by"},
      {with(kStep, {{"SLURM_DISTRIBUTION", "plane=2"}}),
       "SLURM_DISTRIBUTION: expected block or cyclic, by which a task knows the others' nodes, found \"plane=2\""},
      {with(kStep, {{"MIRRORTRAIN_PORT", "65535"}}), "MIRRORTRAIN_PORT: expected at most 65534, so that each of a"},
      {with(kStep, {{"MIRRORTRAIN_PORT", "0"}}), "MIRRORTRAIN_PORT: expected a whole number from 1 to 65535"},
  };
  for (const auto& [variables, message] : rows) {
    const std::string error = refusal(variables);
    CAPTURE(error);
    CAPTURE(message);
    CHECK(error.starts_with(message));
  }
}

TEST_CASE("SLURM's short forms are expanded, and refused where they are none") {
  const std::pair<const char*, Texts> lists[] = {
      {"node7", {"node7"}},
      {"node[01-03,7],other", {"node01", "node02", "node03", "node7", "other"}},
      {"n[098-101]", {"n098", "n099", "n100", "n101"}},
      {"r[1-2]c[1-2]-ib", {"r1c1-ib", "r1c2-ib", "r2c1-ib", "r2c2-ib"}},
      {"a,b", {"a", "b"}},
  };
  for (const auto& [text, hosts] : lists) CHECK(expand_host_list(text, "X") == hosts);
  for (const char* text : {"", "a,,b", "a[", "a]", "a[1-", "a[2-1]", "a[x]", "a[]", "a[-1]", "a[1-99999999]",
                           "a[1-60000]b[1-60000]", "a[1,2"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(expand_host_list(text, "X"), UsageError);
  }
  CHECK(expand_counts("2(x3),1", "X") == std::vector<int>{2, 2, 2, 1});
  CHECK(expand_counts("4", "X") == std::vector<int>{4});
  for (const char* text : {"", "2(x3", "2(x)", "(x3)", "2x3", "-1", "2(x-1)", "2(x99999999)", "1,"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(expand_counts(text, "X"), UsageError);
  }
}

TEST_CASE("torchrun's processes are workers, and the first has the master's address") {
  const auto cluster = discovered(kTorchrun);
  REQUIRE(cluster.has_value());
  CHECK(cluster->source == "torchrun");
  CHECK(cluster->workers == Texts{"10.0.0.1:29500", "", ""});
  CHECK(cluster->task == Task{Job::kWorker, 2});
  CHECK(cluster->describe({Job::kWorker, 1}) == "worker 1");
  CHECK(discovered(with(kTorchrun, {{"MASTER_ADDR", "fe80::1"}}))->workers[0] == "[fe80::1]:29500");
}

TEST_CASE("where torchrun's agent listens at the master's port, the chief takes the next one") {
  CHECK(discovered(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}))->workers[0] == "10.0.0.1:29501");
  CHECK(discovered(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))->workers[0] == "10.0.0.1:29500");
  const Variables both = {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"MIRRORTRAIN_PORT", "4000"}};
  CHECK(discovered(with(kTorchrun, both))->workers[0] == "10.0.0.1:4000");
  CHECK(refusal(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"MASTER_PORT", "65535"}}))
            .starts_with("MASTER_PORT: torchrun's agent listens on 65535"));
}

TEST_CASE("torchrun's variables that are missing or wrong are refused by name") {
  CHECK(refusal(without(kTorchrun, "MASTER_ADDR")) == "MASTER_ADDR is not set, which torchrun sets beside RANK");
  CHECK(refusal(without(kTorchrun, "MASTER_PORT")) == "MASTER_PORT is not set, which torchrun sets beside RANK");
  CHECK(
      refusal(with(kTorchrun, {{"RANK", "3"}})).starts_with("RANK: expected a whole number from 0 to 2, found \"3\""));
  CHECK(refusal(with(kTorchrun, {{"WORLD_SIZE", "0"}})).starts_with("WORLD_SIZE: expected a whole number from 1"));
  CHECK(refusal(with(kTorchrun, {{"MASTER_PORT", "0"}})).starts_with("MASTER_PORT: expected a whole number from 1"));
  CHECK(refusal(with(kTorchrun, {{"MASTER_ADDR", ""}})).starts_with("MASTER_ADDR: expected a host, found \"\""));
  CHECK_FALSE(discovered(without(kTorchrun, "RANK")).has_value());
}

TEST_CASE("SageMaker's hosts are workers in the order of their names, as in TensorFlow's resolver") {
  const Variables hosts = {{"SM_HOSTS", R"(["algo-2", "algo-1", "algo-10"])"}, {"SM_CURRENT_HOST", "algo-2"}};
  const auto cluster = discovered(hosts);
  REQUIRE(cluster.has_value());
  CHECK(cluster->workers == Texts{"algo-1:2223", "algo-10:2223", "algo-2:2223"});
  CHECK(cluster->task == Task{Job::kWorker, 2});
  CHECK(discovered(with(hosts, {{"MIRRORTRAIN_PORT", "4000"}}))->workers[0] == "algo-1:4000");
  CHECK_FALSE(discovered({{"SM_HOSTS", ""}}).has_value());
  CHECK(refusal(without(hosts, "SM_CURRENT_HOST")) ==
        "SM_CURRENT_HOST is not set, which SageMaker sets beside SM_HOSTS");
  CHECK(refusal(with(hosts, {{"SM_CURRENT_HOST", "algo-3"}})).starts_with("SM_CURRENT_HOST: expected one of SM_HOSTS"));
  for (const char* wrong : {"algo-1,algo-2", "[]", "{}", "[1]", R"([""])"}) {
    CHECK(refusal(with(hosts, {{"SM_HOSTS", wrong}})).starts_with("SM_HOSTS: expected a JSON list of hosts"));
  }
}

TEST_CASE("a port is free on an address of this machine, and refused on another's") {
  const int port = free_port("127.0.0.1");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(socket);
  CHECK_THROWS_AS(free_port("192.0.2.1"), Error);
  CHECK_THROWS_AS(free_port("no such host"), Error);
}

TEST_CASE("why nothing can listen at an address is said, and which names no other machine reaches") {
  const int port = free_port("127.0.0.1");
  CHECK(listening_error("127.0.0.1", port).empty());
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(socket, 1) == 0);
  CHECK(listening_error("127.0.0.1", port) == "another process has the port");
  ::close(socket);
  CHECK(listening_error("192.0.2.1", port) == "the host is not this machine: 192.0.2.1 is no address of it");
  CHECK(listening_error("no-such-host.invalid", port).starts_with("its name has no address here (no-such-host"));

  for (const char* says_so : {"localhost", "127.0.0.1", "127.0.1.1", "::1", "192.0.2.1", ""}) {
    CHECK(loopback_of_name(says_so).empty());
  }
  CHECK(is_beyond_loopback("192.0.2.1"));
  CHECK_FALSE(is_beyond_loopback("127.0.0.1"));
  CHECK_FALSE(is_beyond_loopback("::1"));
}

// The values that TensorFlow's tests of its SlurmClusterResolver expect.
TEST_CASE("SLURM's lists are expanded as TensorFlow does") {
  const std::pair<const char*, Texts> lists[] = {
      {"n1", {"n1"}},
      {"n[1,3]", {"n1", "n3"}},
      {"n[1-3]", {"n1", "n2", "n3"}},
      {"n[1-2],m5,o[3-4,6,7-9]", {"n1", "n2", "m5", "o3", "o4", "o6", "o7", "o8", "o9"}},
      {"n[0001-0003],m5,o[009-011]", {"n0001", "n0002", "n0003", "m5", "o009", "o010", "o011"}},
      {"t02n13,t02n41,t02n43", {"t02n13", "t02n41", "t02n43"}},
      {"t02n[13,41,43,46-49]-[1-2]",
       {"t02n13-1", "t02n13-2", "t02n41-1", "t02n41-2", "t02n43-1", "t02n43-2", "t02n46-1", "t02n46-2", "t02n47-1",
        "t02n47-2", "t02n48-1", "t02n48-2", "t02n49-1", "t02n49-2"}},
  };
  for (const auto& [text, hosts] : lists) CHECK(expand_host_list(text, "X") == hosts);
  const std::pair<const char*, std::vector<int>> counts[] = {
      {"2", {2}},
      {"2,1,3", {2, 1, 3}},
      {"3(x2),2,1", {3, 3, 2, 1}},
      {"3(x2),2,11(x4)", {3, 3, 2, 11, 11, 11, 11}},
      {"13(x10)", std::vector<int>(10, 13)},
  };
  for (const auto& [text, expanded] : counts) CHECK(expand_counts(text, "X") == expanded);
}

TEST_CASE("a step's tasks have the nodes and ports that TensorFlow gives them") {
  const Variables step = {{"SLURM_JOB_ID", "1"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_PROCID", "0"},
                          {"SLURM_STEP_NUM_TASKS", "3"},
                          {"SLURM_STEP_TASKS_PER_NODE", "1(x3)"},
                          {"SLURM_STEP_NODELIST", "t02n13,t02n41,t02n43"},
                          {"MIRRORTRAIN_PORT", "8888"}};
  CHECK(discovered(step)->workers == Texts{"t02n13:8888", "t02n41:8888", "t02n43:8888"});
  const Variables several =
      with(step, {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "5"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"}});
  CHECK(discovered(several)->workers ==
        Texts{"t02n13:8888", "t02n13:8889", "t02n41:8888", "t02n41:8889", "t02n43:8888"});
}

TEST_CASE("launchers say which of a host's tasks a process is, and SLURM how many GPUs there are") {
  const auto place = [](const Variables& variables) { return discovered(variables)->local; };
  const LocalPlace step = place(with(kStep, {{"SLURM_GPUS_ON_NODE", "4"}, {"SLURM_GPUS_PER_TASK", "h100:2"}}));
  CHECK(step.index == 1);
  CHECK(step.tasks == 2);
  CHECK(step.gpus_of_host == 4);
  CHECK(step.gpus_per_task == 2);
  CHECK(place(with(kStep, {{"SLURM_GPUS_PER_TASK", "h100:2,a100:1"}})).gpus_per_task == 3);
  CHECK(place(with(kStep, {{"SLURM_PROCID", "4"}, {"SLURM_NODEID", "2"}})).tasks == 1);
  CHECK(refusal(with(kStep, {{"SLURM_GPUS_PER_TASK", "two"}}))
            .starts_with("SLURM_GPUS_PER_TASK: expected a whole number from 0"));
  const std::pair<Variables, std::pair<const char*, const char*>> launchers[] = {
      {{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
       {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}},
      {{{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}, {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}},
      {kTorchrun, {"LOCAL_RANK", "LOCAL_WORLD_SIZE"}},
      {kStep, {"MIRRORTRAIN_LOCAL_RANK", "MIRRORTRAIN_LOCAL_SIZE"}},
  };
  for (const auto& [variables, names] : launchers) {
    const LocalPlace found = place(with(variables, {{names.first, "2"}, {names.second, "3"}}));
    CAPTURE(names.first);
    CHECK(found.index == 2);
    CHECK(found.tasks == 3);
    CHECK(refusal(with(variables, {{names.first, "3"}, {names.second, "3"}})).starts_with(names.first));
  }
  CHECK(place(kTorchrun).tasks == 1);
  CHECK(refusal(with(kTorchrun, {{"MIRRORTRAIN_LOCAL_SIZE", "2"}})) ==
        "MIRRORTRAIN_LOCAL_RANK is not set, which goes with MIRRORTRAIN_LOCAL_SIZE");
}
