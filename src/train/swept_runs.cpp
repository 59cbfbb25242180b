#include "train/swept_runs.h"

#include <chrono>
#include <thread>
#include <utility>

#include "launch/machine_part.h"

namespace mirrortrain {
namespace {

std::vector<launch::MachinePart> parts_of_machine(int parts, const Machine& machine, std::size_t gpus) {
  std::vector<launch::MachinePart> all;
  const std::vector<std::string> names = launch::visible_gpu_names(gpus);
  for (int part = 0; part < parts; ++part) {
    all.push_back(launch::part_of_machine(machine.cores, names, part, parts));
  }
  return all;
}

}  // namespace

SweptRuns::SweptRuns(int parts, const Machine& machine, std::size_t gpus, const std::atomic<int>& signal)
    : processes_(parts_of_machine(parts, machine, gpus), launch::ChildOutput::kShown), signal_(signal) {}

bool SweptRuns::await_room() {
  while (!is_stopped() && !processes_.has_room()) take_ended();
  return !is_stopped();
}

int SweptRuns::finish() {
  while (!processes_.is_idle()) take_ended();
  return signal_ != 0 ? 128 + signal_ : exit_code_;
}

void SweptRuns::take_ended() {
  if (signal_ != 0 && !std::exchange(is_passed_on_, true)) processes_.signal(signal_);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  for (const launch::SideBySide::Ended& one : processes_.take_ended()) {
    if (exit_code_ == 0 || one.end.exit_code > 128) exit_code_ = one.end.exit_code;
  }
}

}  // namespace mirrortrain
