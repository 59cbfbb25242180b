#include "simulated_gpu/threaded_device.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/futex.h"
#include "device/cpu/cpu_device.h"
#include "simulated_gpu/host_stream.h"

namespace mirrortrain {
namespace {

using std::chrono::microseconds;

/// Set once, by one thread; who waits is ordered after it, but never the other way round. By system calls of its own:
/// a lock or a condition variable would also order the stream's work after that of who waits for it, and so hide a
/// missing wait from the sanitizer.
class Flag {
 public:
  void set() {
    std::atomic<std::uint32_t>& address = is_set_;  // who has waited may have freed this when the threads are woken
    address.store(1, std::memory_order_release);
    futex_wake_all(address, FutexScope::kProcess);
  }
  void await() {
    while (is_set_.load(std::memory_order_acquire) == 0) {
      futex_wait(is_set_, 0, std::chrono::seconds(1), FutexScope::kProcess);
    }
  }

 private:
  std::atomic<std::uint32_t> is_set_ = 0;
};

/// Whether this thread captures: what CUDA refuses then is an error here too.
thread_local bool capturing = false;
void refuse_while_capturing(const char* what) {
  if (capturing) throw Error(fmt::format("{} while a stream of the simulated GPU captures", what));
}

class ThreadedEvent : public Event {
 public:
  /// Set when the place recorded last is reached; null before the first. Not guarded: record and wait have an order.
  std::shared_ptr<Flag> happened;

  void synchronize() const override {
    refuse_while_capturing("an event is waited for");
    if (happened) happened->await();
  }
};

/// From one thread to another, which is ordered after the one, but never the other way round.
class Queue {
 public:
  Queue() : first_(new Node), last_(first_) {}
  ~Queue() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void push(std::function<void()> work) {
    auto* const node = new Node;
    node->work = std::move(work);
    last_->next = node;
    std::exchange(last_, node)->has_next.set();
  }

  /// Waits for the next piece.
  std::function<void()> pop() {
    first_->has_next.await();
    delete std::exchange(first_, first_->next);
    return std::move(first_->work);
  }

 private:
  struct Node {
    std::function<void()> work;
    Node* next = nullptr;
    Flag has_next;
  };
  Node* first_;  ///< the node popped last: the consumer's
  Node* last_;   ///< the producer's
};

class ThreadedRecording : public Recording {
 public:
  void add(std::function<void()> work) { work_.push_back(std::move(work)); }
  void enqueue(Stream& stream) override {
    for (const std::function<void()>& work : work_) run_on(stream, work);
  }

 private:
  std::vector<std::function<void()>> work_;
};

class ThreadedStream : public HostStream {
 public:
  ThreadedStream(std::uint64_t seed, microseconds longest_pause)
      : thread_([this, seed, longest_pause] { work_off(seed, longest_pause); }) {}

  ~ThreadedStream() override {
    queue_.push(nullptr);
    thread_.join();
  }

  void run(std::function<void()> work) override {
    if (recording_) return recording_->add(std::move(work));
    queue_.push(std::move(work));
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (bytes > 0) run([=] { std::memcpy(to, from, bytes); });
  }
  void zero(std::byte* to, std::size_t bytes) override {
    if (bytes > 0) run([=] { std::memset(to, 0, bytes); });
  }
  void call(void (*function)(void*), void* argument) override {
    run([=] { function(argument); });
  }
  void record(Event& event) override {
    refuse_while_capturing("an event is recorded");
    auto happened = std::make_shared<Flag>();
    static_cast<ThreadedEvent&>(event).happened = happened;
    queue_.push([happened] { happened->set(); });
  }
  void wait(const Event& event) override {
    refuse_while_capturing("a stream is told to wait");
    if (const auto happened = static_cast<const ThreadedEvent&>(event).happened) {
      queue_.push([happened] { happened->await(); });
    }
  }
  void synchronize() override {
    ThreadedEvent event;
    record(event);
    event.synchronize();
  }
  bool can_capture() const override { return true; }
  std::unique_ptr<Recording> capture(const std::function<void()>& enqueue) override {
    refuse_while_capturing("another capture begins");
    recording_ = std::make_unique<ThreadedRecording>();
    capturing = true;
    try {
      enqueue();
    } catch (...) {
      capturing = false;
      recording_.reset();
      throw;
    }
    capturing = false;
    return std::move(recording_);
  }

 private:
  void work_off(std::uint64_t seed, microseconds longest_pause) {
    ::prctl(PR_SET_TIMERSLACK, 1UL);  // else each pause is 50 us longer
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<microseconds::rep> pause(0, longest_pause.count());
    while (const std::function<void()> work = queue_.pop()) {
      if (random() % 2 == 0) std::this_thread::sleep_for(microseconds(pause(random)));
      work();
    }
  }

  Queue queue_;
  std::unique_ptr<ThreadedRecording> recording_;  ///< while capturing
  std::thread thread_;
};

class ThreadedDevice : public Device {
 public:
  ThreadedDevice(DeviceId id, std::uint64_t seed, microseconds longest_pause, std::size_t memory_bytes)
      : id_(id), random_(seed), longest_pause_(longest_pause), memory_bytes_(memory_bytes) {}

  DeviceId id() const override { return id_; }
  int threads() const override { return 1; }
  Buffer allocate(std::size_t bytes) override {
    refuse_while_capturing("memory is allocated");
    if (memory_bytes_ == 0 || bytes == 0) return allocate_host_memory(bytes);
    if (bytes > memory().free) throw Error(fmt::format("no memory for {} bytes on {}", bytes, id_.text()));
    *taken_ += bytes;
    auto memory = std::make_shared<Buffer>(allocate_host_memory(bytes));
    return {memory->data(), bytes, [taken = taken_, memory, bytes](std::byte*) mutable {
              memory.reset();
              *taken -= bytes;
            }};
  }
  DeviceMemory memory() const override {
    return memory_bytes_ == 0 ? host_memory() : DeviceMemory{memory_bytes_ - *taken_, memory_bytes_};
  }
  Buffer allocate_host(std::size_t bytes) override {
    refuse_while_capturing("host memory is allocated");
    return allocate_host_memory(bytes);
  }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<ThreadedStream>(random_(), longest_pause_); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<ThreadedEvent>(); }
  void enter_thread() override {}

 private:
  DeviceId id_;
  std::mt19937_64 random_;
  microseconds longest_pause_;
  std::size_t memory_bytes_;
  std::shared_ptr<std::atomic<std::size_t>> taken_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace

std::unique_ptr<Device> make_threaded_device(DeviceId id, std::uint64_t seed, microseconds longest_pause,
                                             std::size_t memory_bytes) {
  return std::make_unique<ThreadedDevice>(id, seed, longest_pause, memory_bytes);
}

}  // namespace mirrortrain
