#include "strategy/parameter_server/worker.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "base/channel.h"
#include "base/error.h"
#include "collective/shared_memory/shared_memory.h"
#include "strategy/parameter_server/chief_connection.h"
#include "strategy/parameter_server/parameter_client.h"
#include "strategy/parameter_server/reported_reason.h"
#include "strategy/parameter_server/variable_exchange.h"
#include "strategy/parameter_server/worker_tables.h"

namespace mirrortrain {
namespace {

/// A step in flight in the worker: chief, puller, lanes, pusher, chief.
struct WorkerStep {
  DispatchedStep step;
  std::vector<std::int64_t> versions;  ///< of the servers at the time of the pull
  std::optional<Content> pulled;       ///< nothing: the lanes have the variables
  std::span<float> elements;           ///< the pulled variables, then the push
  WorkerTables::Rows rows;             ///< the same of tables with sparse gradients
  StepSums sums;
};

/// Checks rows from another task before addresses are computed from them.
void require_rows(const data::Feeder* data_set, std::span<const std::int64_t> rows) {
  if (data_set == nullptr) return;
  for (const std::int64_t row : rows) {
    if (row >= 0 && row < data_set->rows()) continue;
    throw Error(
        fmt::format("the chief asks for row {} of a data set that has {} here; it must be the same on every task", row,
                    data_set->rows()));
  }
}

class Worker {
 public:
  explicit Worker(const WorkerParts& parts)
      : parts_(parts),
        exchange_(parts.placement),
        tables_(parts.model, parts.sparse, parts.placement),
        servers_(parts.placement, parts.servers, parts.security, parts.timeout_seconds),
        chief_(parts.chief, parts.task, parts.security) {
    // One for each step that can be here at once, so that nothing large is allocated in a step; in memory shared with
    // the servers of this machine.
    const auto count = static_cast<std::size_t>(parts.placement.elements(Content::kValues));
    shared_ = SharedMemory::make(kPlaces * count * sizeof(float));
    if (shared_) {
      servers_.share(*shared_);
    } else {
      own_.resize(kPlaces * count);
    }
    float* const places = shared_ ? reinterpret_cast<float*>(shared_->bytes().data()) : own_.data();
    for (std::size_t i = 0; i < kPlaces; ++i) places_.put({places + i * count, count});
  }

  void run() {
    const auto listener = std::async(std::launch::async, [this] { guard([this] { listen(); }); });
    const auto puller = std::async(std::launch::async, [this] { guard([this] { pull(); }); });
    const auto pusher = std::async(std::launch::async, [this] { guard([this] { push(); }); });
    {
      const std::jthread watcher([this](const std::stop_token& over) { watch(over); });
      guard([this] { compute(); });  // on the thread that created the strategy, which is its first lane
      puller.wait();
      pusher.wait();
    }
    // The chief closes the connection: when the work is done, or when it is notified of the error here.
    if (error_ && listener.wait_for(std::chrono::seconds(5)) != std::future_status::ready) chief_.cancel();
    listener.wait();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  static constexpr std::size_t kPlaces = Dispatcher::kStepsAtWorker + 1;

  /// The first error ends all threads; the chief is notified unless it caused it.
  template <class Work>
  void guard(const Work& work) {
    try {
      return work();
    } catch (const ChiefGone& gone) {
      stop(std::make_exception_ptr(Error(gone.text)));
    } catch (const ServerError& error) {
      if (stop(std::current_exception())) chief_.report_failure(error.what(), error.server);
    } catch (const std::exception& error) {
      if (stop(std::current_exception())) chief_.report_failure(error.what(), std::nullopt);
    }
  }
  struct ChiefGone {
    std::string text;
  };

  /// Returns whether this was the first error.
  bool stop(std::exception_ptr error) {
    const std::scoped_lock lock(mutex_);
    if (error_) return false;
    error_ = std::move(error);
    orders_.abandon();
    pulled_.abandon();
    computed_.abandon();
    places_.abandon();
    return true;
  }

  /// Ends this worker if the run has failed without a message on the connection: the chief may have stalled.
  void watch(const std::stop_token& over) {
    for (; !over.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
      const std::string reason = parts_.failure();
      if (reason.empty()) continue;
      stop(std::make_exception_ptr(Error(reason)));
      return chief_.cancel();
    }
  }

  void listen() {
    try {
      while (auto step = chief_.take()) orders_.put(std::move(*step));
    } catch (const Error& error) {
      throw ChiefGone{parameter_server::reported_reason(parts_.failure, error.what())};
    }
    orders_.close();
  }

  void pull() {
    std::int64_t generation = 0, snapshot = -1;  // the snapshot that was pulled last for evaluation
    while (auto step = orders_.take()) {
      WorkerStep next;
      const bool anew = step->generation != generation;
      const bool has_values = !anew && !step->trains && step->snapshot == snapshot;
      snapshot = step->trains ? -1 : step->snapshot;
      auto place = places_.take();
      if (!place) return;
      next.elements = *place;
      if (!has_values) {
        next.pulled = anew ? Content::kValues : Content::kChanging;  // only the chief changes constants
        if (step->trains && !anew) ask_for_rows(*step, next);
        next.versions = servers_.pull(step->generation, *next.pulled, message(next, *next.pulled), next.rows);
      }
      generation = step->generation;
      next.step = std::move(*step);
      pulled_.put(std::move(next));
    }
    pulled_.close();
  }

  void compute() {
    while (auto step = pulled_.take()) {
      if (step->pulled) {
        const Content content = *step->pulled;
        parts_.strategy.change_variables(VariableExchange::lasting(content), [&](const LastingVariable& variable) {
          exchange_.read(content, message(*step, content), variable);
          if (!step->rows.empty()) tables_.read(step->rows, variable);
        });
      }
      StepSpec spec;
      spec.data_set = parts_.examples.at(static_cast<std::size_t>(step->step.data_set));
      spec.rows = step->step.rows;
      require_rows(spec.data_set, spec.rows);
      spec.epoch = step->step.epoch;
      spec.step = step->step.step;
      if (step->step.trains) {
        parts_.begin_step(spec.step);
        spec.gradients = 1;  // accumulated, and applied by the servers
        parts_.strategy.train(spec);
      } else {
        parts_.strategy.evaluate(spec);
      }
      step->sums = parts_.strategy.take_sums().back();
      if (step->step.trains) {
        step->rows.assign(static_cast<std::size_t>(parts_.placement.servers()), {});
        parts_.strategy.read_variables(VariableExchange::kPushed, [&](const LastingVariable& variable) {
          exchange_.push(variable, message(*step, Content::kDense));
          if (tables_.has(variable.index)) tables_.push(variable, parts_.strategy, step->rows);
        });
      }
      computed_.put(std::move(*step));
    }
    computed_.close();
  }

  void push() {
    while (auto step = computed_.take()) {
      StepResult result{std::move(step->sums), std::nullopt};
      if (step->step.trains) result.staleness = push_to_servers(*step);
      places_.put(step->elements);
      chief_.report(step->step.number, result);
    }
  }

  std::optional<std::int64_t> push_to_servers(const WorkerStep& step) {
    PushedStep pushed;
    pushed.generation = step.step.generation;
    pushed.step = step.step.step;
    pushed.oldest_open_step = step.step.oldest_open_step;
    pushed.updates = step.step.updates;
    pushed.learning_rates = step.step.learning_rates;
    const std::span<const float> elements = message(step, Content::kDense);
    if (parts_.clip_norm) {
      const double norm = std::sqrt(exchange_.squares_of_push(elements) + WorkerTables::squares(step.rows));
      if (norm > *parts_.clip_norm) pushed.scale = static_cast<float>(*parts_.clip_norm / norm);
    }
    return servers_.push(pushed, step.versions, elements, step.rows);
  }

  /// Pulls of a step's tables the rows alone that it looks up, if they are known.
  void ask_for_rows(const DispatchedStep& step, WorkerStep& next) const {
    const data::Feeder* const examples = parts_.examples.at(static_cast<std::size_t>(step.data_set));
    if (examples == nullptr) return;
    require_rows(examples, step.rows);
    auto rows = tables_.looked_up(*examples, step.rows);
    if (!rows) return;
    next.rows = std::move(*rows);
    next.pulled = Content::kDense;
  }

  std::span<float> message(const WorkerStep& step, Content content) const {
    return step.elements.first(static_cast<std::size_t>(parts_.placement.elements(content)));
  }

  const WorkerParts& parts_;
  VariableExchange exchange_;
  const WorkerTables tables_;
  std::unique_ptr<SharedMemory> shared_;  ///< memory of the places; null if /dev/shm has too little space
  std::vector<float> own_;                ///< memory used instead
  ParameterClient servers_;
  ChiefConnection chief_;
  Channel<DispatchedStep> orders_;
  Channel<WorkerStep> pulled_, computed_;
  Channel<std::span<float>> places_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void run_worker(const WorkerParts& parts) { Worker(parts).run(); }

}  // namespace mirrortrain
