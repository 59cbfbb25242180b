#include "strategy/parameter_server/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace mirrortrain {

/// Waits while workers come and go.
template <class Condition>
void Dispatcher::wait_until(Lock& lock, const Condition& condition) {
  constexpr auto kLook = std::chrono::milliseconds(100);
  if (workers_.empty() && departed_.empty()) last_worker_ = Clock::now();  // none is late before it is needed
  while (true) {
    if (!failure_.empty()) throw Error(failure_);
    if (condition()) return;
    if (!workers_.empty()) last_worker_ = Clock::now();
    const std::chrono::duration<double> without = Clock::now() - last_worker_;
    if (options_.timeout_seconds > 0 && without.count() > options_.timeout_seconds) throw_without_workers();
    changed_.wait_for(lock, kLook);
  }
}

void Dispatcher::throw_without_workers() const {
  std::string reasons;
  for (const auto& [name, reason] : departed_) {
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name, reason);
  }
  throw Error(fmt::format("no worker for {} s (communication.timeout_seconds): {}", options_.timeout_seconds,
                          reasons.empty() ? "none has come" : reasons));
}

bool Dispatcher::may_open(const DispatchedStep& step) const {
  if (!step.trains || !options_.max_staleness) return true;
  std::int64_t training = 0;
  for (const auto& [number, open] : open_) {
    if (!open.step.trains) continue;
    if (open.overlapping >= *options_.max_staleness) return false;
    ++training;
  }
  return training <= *options_.max_staleness;
}

/// The worker with the fewest steps, if it can have one more; else -1.
int Dispatcher::free_worker() const {
  const auto least = std::ranges::min_element(workers_, {}, [](const auto& numbered) { return numbered.second.steps; });
  return least != workers_.end() && least->second.steps < kStepsAtWorker ? least->first : -1;
}

void Dispatcher::open(DispatchedStep step) {
  step.number = next_number_++;
  step.oldest_open_step = step.step;
  std::int64_t overlapping = 0;
  for (auto& [number, other] : open_) {
    if (!other.step.trains || !step.trains) continue;
    ++other.overlapping;
    ++overlapping;
    step.oldest_open_step = std::min(step.oldest_open_step, other.step.step);
  }
  results_.emplace_back();
  const std::int64_t number = step.number;
  open_.emplace(number, Open{std::move(step), -1, overlapping});
}

void Dispatcher::deliver(Lock& lock) {
  std::vector<std::pair<Send, DispatchedStep>> sends;
  for (auto& [number, open] : open_) {
    if (open.worker >= 0) continue;
    const int worker = free_worker();
    if (worker < 0) break;
    open.worker = worker;
    Worker& own = workers_.at(worker);
    ++own.steps;
    sends.emplace_back(own.send, open.step);
  }
  changed_.notify_all();
  lock.unlock();
  for (const auto& [send, step] : sends) send(step);
}

void Dispatcher::give(DispatchedStep step) {
  Lock lock(mutex_);
  const auto is_with_none = [](const auto& numbered) { return numbered.second.worker < 0; };
  wait_until(lock, [&] { return free_worker() >= 0 && may_open(step) && std::ranges::none_of(open_, is_with_none); });
  open(std::move(step));
  deliver(lock);
}

void Dispatcher::wait() {
  Lock lock(mutex_);
  wait_until(lock, [&] { return open_.empty(); });
}

std::vector<StepResult> Dispatcher::take() {
  Lock lock(mutex_);
  wait_until(lock, [&] { return open_.empty(); });
  std::vector<StepResult> taken;
  for (auto& result : results_) taken.push_back(std::move(result.value()));
  results_.clear();
  first_result_ = next_number_;
  return taken;
}

void Dispatcher::wait_for_workers(std::size_t count) {
  Lock lock(mutex_);
  wait_until(lock, [&] { return workers_.size() >= count; });
}

int Dispatcher::join(const std::string& name, Send send) {
  Lock lock(mutex_);
  const int worker = next_worker_++;
  workers_.emplace(worker, Worker{name, std::move(send)});
  departed_.erase(name);
  deliver(lock);
  return worker;
}

void Dispatcher::finish(int worker, std::int64_t number, StepResult result) {
  Lock lock(mutex_);
  const auto done = open_.find(number);
  if (done == open_.end() || done->second.worker != worker) return;
  results_[static_cast<std::size_t>(number - first_result_)] = std::move(result);
  open_.erase(done);
  --workers_.at(worker).steps;
  deliver(lock);
}

void Dispatcher::leave(int worker, const std::string& reason, double silent_seconds) {
  Lock lock(mutex_);
  const auto left = workers_.find(worker);
  if (left == workers_.end()) return;
  std::string in_step;
  for (auto& [number, open] : open_) {
    if (open.worker != worker) continue;
    open.worker = -1;
    if (in_step.empty() && open.step.trains) in_step = fmt::format(" in step {}", open.step.step);
  }
  const auto silence = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(silent_seconds));
  last_heard_ = std::max(last_heard_, Clock::now() - silence);
  departed_[left->second.name] = reason + in_step;
  workers_.erase(left);
  // If all fell silent at the same time, the run has been without workers since then.
  last_worker_ = workers_.empty() ? last_heard_ : Clock::now();
  deliver(lock);
}

void Dispatcher::fail(const std::string& reason) {
  const Lock lock(mutex_);
  if (failure_.empty()) failure_ = reason;
  changed_.notify_all();
}

}  // namespace mirrortrain
