#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "device/device.h"
#include "strategy/gradient_options.h"
#include "strategy/parameter_server/placement.h"
#include "strategy/step_spec.h"
#include "strategy/variables/directions.h"
#include "strategy/variables/variable_group.h"

namespace mirrortrain {

/// A worker's gradients for one server, and the versions that they were computed from.
struct PushedStep {
  std::int64_t generation = 0, version = 0;
  std::int64_t step = 0, oldest_open_step = 0, updates = 0;
  LearningRates learning_rates{};
  float scale = 1;
};

/// The result of a push.
struct PushResult {
  bool applied = false;        ///< false: the step had been applied before
  std::int64_t staleness = 0;  ///< updates applied between the pull and this push
};

/// Tracks which steps a server has applied, so that each is applied once, even if the step of a worker that seemed lost
/// was given to another. Thread-safe.
class AppliedSteps {
 public:
  /// Returns true if the caller must apply the step and then call `end`; false if it is applied already, after waiting
  /// for another caller that is applying it. `oldest_open`: all steps before it are applied.
  bool begin(std::int64_t step, std::int64_t oldest_open) {
    std::unique_lock lock(mutex_);
    if (oldest_open > oldest_open_) {
      oldest_open_ = oldest_open;
      done_.erase(done_.begin(), done_.lower_bound(oldest_open));
    }
    if (step < oldest_open_) return false;
    if (const auto [entry, is_new] = done_.try_emplace(step, false); is_new) return true;
    changed_.wait(lock, [&] {
      const auto entry = done_.find(step);
      return entry == done_.end() || entry->second;
    });
    return false;
  }

  void end(std::int64_t step) {
    const std::scoped_lock lock(mutex_);
    if (const auto entry = done_.find(step); entry != done_.end()) entry->second = true;
    changed_.notify_all();
  }

  /// The variables were written: step numbers restart. No step is being applied.
  void clear() {
    const std::scoped_lock lock(mutex_);
    done_.clear();
    oldest_open_ = 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, bool> done_;  ///< from the oldest open one; false while it is being applied
  std::int64_t oldest_open_ = 0;
};

/// The parts of the variables on one parameter server, with their optimizer slots. Each part has a lock: a pull reads
/// each part atomically, before or after a push, and pulls and pushes interleave part by part. Thread-safe.
class ServedVariables {
 public:
  /// All values are 0 until the first write. The placement must outlive it.
  ServedVariables(const Placement& placement, int server, const GradientOptions& gradients);

  /// The number of the chief's last write, as given by the chief; 0 before the first.
  std::int64_t generation() const { return generation_; }

  /// Replaces everything: Content::kState. Steps of earlier generations are rejected from then on.
  void write(std::int64_t generation, std::span<const float> state);
  /// Sets the values of `rows`, too. Returns the version: the number of pushes applied or begun before. Throws Error
  /// for another generation, and for rows that do not exist.
  std::int64_t pull(std::int64_t generation, Content content, std::span<float> to, std::span<PartRows> rows = {}) const;
  /// Applies gradients and assigned values (Content::kDense), each step once; parts with sparse gradients that `rows`
  /// has not have gradients of 0. Throws as `pull`.
  PushResult push(const PushedStep& step, std::span<const float> elements, std::span<const PartRows> rows = {});

 private:
  struct Part {
    Part(std::int64_t elements_, const VariableUpdate& update)
        : elements(elements_), values(Aggregation::kMean, update) {}
    std::int64_t elements;
    mutable std::mutex mutex;
    VariableGroup values;
    float* memory(int slot) const {
      const scalar::UpdateGroupView& view = values.view(0);
      const int of_elements = values.update().slots();
      if (slot >= of_elements) return states[static_cast<std::size_t>(slot - of_elements)].as<float>();
      return slot < 0 ? view.master : view.slots[static_cast<std::size_t>(slot)];
    }

    /// The gradient of a sparse table whose rule reads whole variables; 0 between pushes.
    Buffer dense;

    // Of a variable with a direction.
    std::vector<Buffer> states;
    Buffer work;
    StepParams params;
    std::optional<DirectionProgram> direction;
    std::optional<DirectionProgram::Bound> bound;
  };
  template <class Copy>
  void for_each_piece(Content content, const Copy& copy) const;
  void require(std::int64_t generation) const;
  template <class Rows>
  void require(const Rows& all) const;
  std::size_t values_of(const PartRows& rows) const;
  void update_table(Part& own, const VariablePart& part, std::span<const PartRows> pushed,
                    const StepParams& params) const;
  void add_direction(Part& own, const VariablePart& part);
  void update(Part& part, const float* gradient, const StepParams& params) const;

  const Placement& placement_;
  const int server_;
  const GradientOptions gradients_;
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Part>> parts_;  ///< in the order of the placement
  mutable std::shared_mutex writes_;          ///< exclusive: a write; shared: pulls and pushes
  AppliedSteps applied_;
  std::atomic<std::int64_t> generation_ = 0, version_ = 0;
};

}  // namespace mirrortrain
