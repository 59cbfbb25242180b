#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace mirrortrain {

/// "cpu:0", "cuda:1": a kind and a number.
struct DeviceId {
  enum class Kind { kCpu, kCuda };
  Kind kind = Kind::kCpu;
  int index = 0;

  std::string text() const;
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

/// Owns device memory, aligned to 64 bytes and zeroed. Movable, not copyable.
class Buffer {
 public:
  using Deleter = std::function<void(std::byte*)>;
  Buffer() = default;
  Buffer(std::byte* data, std::size_t bytes, Deleter deleter);

  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  std::unique_ptr<std::byte, Deleter> data_;
  std::size_t bytes_ = 0;
};

/// A point in a stream's work that other streams, also of other devices, can wait for. Created by the device whose
/// streams record it; may be recorded repeatedly.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns when it has happened; at once if it was never recorded. Throws Error if the work before it failed.
  virtual void synchronize() const {}
};

class Stream;

/// Captured work that can be replayed.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Enqueues all of it on a stream of the device that it was captured on.
  virtual void enqueue(Stream& stream) = 0;
};

/// Work in order, driven by one lane. On a CPU the calling lane's thread does the work before `enqueue` and `copy`
/// return, so an event has happened once it is recorded, unless the stream is a BackgroundStream.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Copies within the device, between it and the host, or from another device. Host memory must remain unchanged until
  /// the copy is done; unless it is from allocate_host, a GPU's copy blocks the calling thread. Pointers may be null
  /// for 0 bytes.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void zero(std::byte* to, std::size_t bytes) = 0;
  /// Calls function(argument) on some host thread after everything enqueued before. It must not throw or use a device.
  virtual void call(void (*function)(void*), void* argument) = 0;
  /// The event happens when everything enqueued so far is done. Recording it again replaces its previous point.
  virtual void record(Event& event) = 0;
  /// Work enqueued from now on starts after the point where the event was last recorded; an event that was never
  /// recorded is not waited for. The caller ensures that the recording call comes first, on whichever thread.
  virtual void wait(const Event& event) = 0;
  /// Returns when everything enqueued is done. Throws Error if any of it failed.
  virtual void synchronize() = 0;

  /// Whether work can be captured, so that replaying it costs as much as enqueuing one operation.
  virtual bool can_capture() const { return false; }
  /// Calls `enqueue` and captures what it enqueues here instead of running it: with fixed memory and arguments, and
  /// without events of other streams. Throws Error if capturing is not possible.
  virtual std::unique_ptr<Recording> capture(const std::function<void()>& enqueue);
};

/// Free bytes for Device::allocate and total bytes, as far as the device knows: other processes allocate too.
struct DeviceMemory {
  std::size_t free = 0, all = 0;
};

/// A device with memory and compute. One lane drives it.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceId id() const = 0;
  /// Threads that one kernel may use (1 on a GPU).
  virtual int threads() const = 0;
  /// Throws Error, naming the requested bytes, if there is not enough memory.
  virtual Buffer allocate(std::size_t bytes) = 0;
  virtual DeviceMemory memory() const = 0;
  /// Host memory that the device accesses directly (pinned, on a GPU). Throws like allocate.
  virtual Buffer allocate_host(std::size_t bytes) = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  /// A stream whose kernels start before those of other streams: for communication, which others wait for.
  virtual std::unique_ptr<Stream> make_urgent_stream() { return make_stream(); }
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Called once by the lane's thread before it uses the device: pins the threads of its team and sets how they
  /// compute.
  virtual void enter_thread() = 0;
  /// On the lane's thread: whether its team's threads stay on their assigned cores, as they do initially, or run on any
  /// core that the process may use.
  virtual void keep_to_own_cores(bool) {}
};

}  // namespace mirrortrain
