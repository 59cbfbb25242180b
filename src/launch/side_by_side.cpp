#include "launch/side_by_side.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/error.h"
#include "launch/cores.h"
#include "launch/machine_part.h"
#include "launch/process.h"

namespace mirrortrain::launch {

SideBySide::SideBySide(int parts, std::vector<int> cores, std::size_t gpus, const std::atomic<int>& signal)
    : parts_(parts), cores_(std::move(cores)), gpus_(visible_gpu_names(gpus)), signal_(signal) {
  while (parts-- > 0) idle_.push_back(parts);
}

bool SideBySide::has_room() {
  if (is_stopped()) return false;
  while (idle_.empty()) wait_for_one();
  return !is_stopped();
}

void SideBySide::start(const std::vector<std::string>& words) {
  const int part = idle_.back();
  idle_.pop_back();
  running_[start_on(part, words)] = part;
}

int SideBySide::finish() {
  while (!running_.empty()) wait_for_one();
  return signal_ != 0 ? 128 + signal_ : exit_code_;
}

void SideBySide::wait_for_one() {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(-1, &status, WNOHANG)) == 0) {
    if (signal_ != 0 && !std::exchange(is_passed_on_, true)) {
      for (const auto& [child, part] : running_) ::kill(child, signal_);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!running_.contains(ended)) return;
  idle_.push_back(running_[ended]);
  running_.erase(ended);
  const int code = exit_code_of_status(status);
  if (exit_code_ == 0 || code > 128) exit_code_ = code;
}

pid_t SideBySide::start_on(int part, const std::vector<std::string>& words) const {
  const MachinePart own = part_of_machine(cores_, gpus_, part, parts_);
  std::vector<std::string> copies = words;
  std::vector<char*> argv;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  const OnCores on(own.cores);  // inherited
  if (!own.gpus.empty()) ::setenv("CUDA_VISIBLE_DEVICES", own.gpus.c_str(), 1);
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(128 + SIGTERM);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  if (child < 0) throw Error("cannot start a run of the sweep: no more processes are allowed");
  return child;
}

}  // namespace mirrortrain::launch
