// Starts the tasks of a large cluster on this machine, without training, and prints what that costs: the time until all
// have joined and until the workers' connections are made, the bytes that pass the chief, and its threads and
// descriptors. Each process has some of the tasks, as threads; the chief has one to itself.
//
//   test_many_tasks --tasks 128 --per-process 1 --peers [--direct 128] [--stay 5]
//
// Ends with 1 where the chief needs more than 1 KB for a pair of tasks, a thread for each task, or more descriptors
// than its connections.
#include <dirent.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cluster/reachable_host.h"
#include "collective/gloo/gloo_communicator.h"
#include "device/cpu/cpu_device.h"
#include "rpc/control_plane.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int tasks = 128, per_process = 1;
  int most_direct = kMostDirectRanks;  ///< workers that each connect to each other one
  bool peers = false;
  int stay = 0;  ///< seconds in which nothing but heartbeats is sent
};

/// What a process reports, through a pipe.
struct Figures {
  double joined = 0, connected = 0, added = 0, left = 0;  ///< seconds since the start, of its last task
  double cpu = 0;
  double idle_cpu = 0;                  ///< processor time while nothing but heartbeats was sent
  std::int64_t received = 0, sent = 0;  ///< bytes through the sockets that are open once all is made
  std::int64_t threads = 0, descriptors = 0, kilobytes = 0;
  bool failed = false;
};

double processor_time() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::int64_t entries(const char* folder) {
  std::int64_t count = -3;  // ".", ".." and this one
  DIR* const opened = ::opendir(folder);
  while (::readdir(opened) != nullptr) ++count;
  ::closedir(opened);
  return count;
}

void measure(Figures& figures) {
  figures.threads = entries("/proc/self/task") + 1;
  figures.descriptors = entries("/proc/self/fd");
  for (int socket = 0; socket < 1 << 12; ++socket) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
    figures.received += static_cast<std::int64_t>(info.tcpi_bytes_received);
    figures.sent += static_cast<std::int64_t>(info.tcpi_bytes_acked);
  }
}

ClusterSpec cluster_of(int tasks, const std::string& chief) {
  ClusterSpec cluster;
  cluster.workers.push_back(chief);
  for (int i = 1; i < tasks; ++i) cluster.workers.push_back(fmt::format("127.0.0.1:{}", 1000 + i));
  cluster.source = "many_tasks";
  return cluster;
}

class Process {
 public:
  Process(const Options& options, std::string chief, Clock::time_point begin)
      : options_(options), cluster_(cluster_of(options.tasks, chief)), begin_(begin) {}

  Figures run(int first, int count) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        try {
          run_task(first + i);
        } catch (const std::exception& error) {
          fmt::print(stderr, "task {}: {}\n", first + i, error.what());
          const std::scoped_lock lock(mutex_);
          figures_.failed = true;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    figures_.left = since(begin_);
    figures_.cpu = processor_time();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    figures_.kilobytes = usage.ru_maxrss;
    return figures_;
  }

 private:
  void note(double& latest) {
    const std::scoped_lock lock(mutex_);
    latest = std::max(latest, since(begin_));
  }

  void run_task(int task) {
    ClusterSpec own = cluster_;
    own.task = {Job::kWorker, task};
    rpc::Handshake handshake{"1.0", {}};
    for (int key = 0; key < 100; ++key) handshake.configuration.emplace_back(fmt::format("data.key_{}", key), "value");
    for (const std::string& address : own.workers) handshake.configuration.emplace_back("the address of", address);
    const auto control = rpc::ControlPlane::join(own, rpc::Security::from({}), handshake, {});
    note(figures_.joined);
    std::unique_ptr<Communicator> communicator;
    if (options_.peers) {
      const RendezvousStore rendezvous{
          [&](const std::string& key, const std::string& value) { control->put(key, value); },
          [&](const std::string& key) { return control->get(key); },
          [&](const std::string& key, int rank, int size, std::span<const std::string> values) {
            return control->gather(key, rank, size, values);
          },
          [&] { return control->failure(); }};
      const GlooOptions gloo{task, options_.tasks, "127.0.0.1", 60, options_.most_direct};
      communicator = make_gloo_communicator(gloo, rendezvous, {});
      note(figures_.connected);
      InlineStream stream;
      float one = 1;
      communicator->all_reduce(stream, {std::span(&one, 1), "one"});
      if (one != static_cast<float>(options_.tasks)) throw std::runtime_error("a wrong sum");
      note(figures_.added);
    }
    if (task == 0) measure(figures_);  // in a process of its own
    wait(*control, task);
  }

  /// Until all are there, so that none measures others that have left.
  void wait(rpc::ControlPlane& control, int task) {
    const std::string nothing;
    control.gather("measured", task, options_.tasks, std::span(&nothing, 1));
    if (options_.stay == 0) return;
    const double before = processor_time();
    std::this_thread::sleep_for(std::chrono::seconds(options_.stay));
    if (task == 0) figures_.idle_cpu = processor_time() - before;
    control.gather("stayed", task, options_.tasks, std::span(&nothing, 1));
  }

  const Options options_;
  const ClusterSpec cluster_;
  const Clock::time_point begin_;
  std::mutex mutex_;
  Figures figures_;
};

/// Whether a container allows so many threads; each task has a few.
bool has_threads(int tasks) {
  std::ifstream file("/sys/fs/cgroup/pids.max");
  std::int64_t most = 0;
  return !(file >> most) || most > 6 * tasks;
}

int run(const Options& options) {
  if (!has_threads(options.tasks)) return 77;
  if (options.peers && !why_no_gloo().empty()) return 77;
  const std::string chief = fmt::format("127.0.0.1:{}", free_port("127.0.0.1"));
  const auto begin = Clock::now();
  std::vector<int> pipes;
  std::vector<pid_t> processes;
  for (int first = 0; first < options.tasks;) {
    const int count = first == 0 ? 1 : std::min(options.per_process, options.tasks - first);
    int ends[2];
    if (::pipe(ends) != 0) return 1;
    const pid_t process = ::fork();
    if (process < 0) return 1;
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const Figures figures = Process(options, chief, begin).run(first, count);
      [[maybe_unused]] const auto written = ::write(ends[1], &figures, sizeof figures);
      ::_exit(figures.failed ? 1 : 0);
    }
    ::close(ends[1]);
    pipes.push_back(ends[0]);
    processes.push_back(process);
    first += count;
  }
  const double started = since(begin);
  Figures chiefs, all;
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    Figures one;
    if (::read(pipes[i], &one, sizeof one) != sizeof one) one.failed = true;
    ::waitpid(processes[i], nullptr, 0);
    if (i == 0) chiefs = one;
    all.joined = std::max(all.joined, one.joined);
    all.connected = std::max(all.connected, one.connected);
    all.added = std::max(all.added, one.added);
    all.left = std::max(all.left, one.left);
    all.cpu += one.cpu;
    all.kilobytes += one.kilobytes;
    all.failed = all.failed || one.failed;
  }
  const double pairs = static_cast<double>(options.tasks) * options.tasks;
  fmt::print("{} tasks in {} processes, started in {:.2f} s\n", options.tasks, processes.size(), started);
  fmt::print("joined after {:.2f} s", all.joined);
  if (options.peers) fmt::print(", connected after {:.2f} s, first sum after {:.2f} s", all.connected, all.added);
  fmt::print(", all left after {:.2f} s; {:.2f} s of processor time, {} MB\n", all.left, all.cpu, all.kilobytes / 1024);
  fmt::print("the chief: {} KB received, {} KB sent, {:.0f} bytes a pair; {} threads, {} descriptors, {} MB\n",
             chiefs.received / 1024, chiefs.sent / 1024, static_cast<double>(chiefs.received + chiefs.sent) / pairs,
             chiefs.threads, chiefs.descriptors, chiefs.kilobytes / 1024);
  if (options.stay > 0) {
    fmt::print("the chief's heartbeats: {:.1f} % of a core\n", chiefs.idle_cpu / options.stay * 100);
  }
  constexpr std::int64_t kThreads = 64, kDescriptors = 160;
  const bool is_bounded = static_cast<double>(chiefs.received + chiefs.sent) < 1024 * pairs &&
                          chiefs.threads < kThreads && chiefs.descriptors < options.tasks + kDescriptors;
  if (!is_bounded) fmt::print("that is too much\n");
  return all.failed || !is_bounded ? 1 : 0;
}

}  // namespace
}  // namespace mirrortrain

int main(int count, char** words) {
  mirrortrain::Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--peers") options.peers = true;
    if (word == "--direct" && i + 1 < count) options.most_direct = std::atoi(words[++i]);
    if (word == "--stay" && i + 1 < count) options.stay = std::atoi(words[++i]);
    if (word == "--tasks" && i + 1 < count) options.tasks = std::atoi(words[++i]);
    if (word == "--per-process" && i + 1 < count) options.per_process = std::atoi(words[++i]);
  }
  return mirrortrain::run(options);
}
