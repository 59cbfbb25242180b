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

/// A place in a stream's work that other streams, of other devices too, can wait for. Made by the device whose streams
/// record it; may be recorded again and again.
class Event {
 public:
  virtual ~Event() = default;
  /// Returns when it happened; at once where it was never recorded. Throws Error where the work before it failed.
  virtual void synchronize() const {}
};

class Stream;

/// Work that was captured once, to be done again and again.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Puts all of it into a stream of the device that it was captured on.
  virtual void enqueue(Stream& stream) = 0;
};

/// Work in order, driven by one lane. On a CPU the calling lane's thread does the work before `enqueue` and `copy`
/// return, so an event has happened once it is recorded.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Copies within the device, between it and the host, or from another device. Host memory must stay as it is until
  /// the copy is done; unless it comes from allocate_host, a GPU's copy keeps the calling thread waiting. No bytes need
  /// no memory.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void zero(std::byte* to, std::size_t bytes) = 0;
  /// Calls function(argument) on some host thread after everything enqueued before. It must not throw nor use a device.
  virtual void call(void (*function)(void*), void* argument) = 0;
  /// The event happens when everything enqueued so far is done. Recorded again, it forgets its last place.
  virtual void record(Event& event) = 0;
  /// What is enqueued from here on starts after the place where the event was last recorded; never recorded, it waits
  /// for nothing. The caller sees to it that the recording call came first, whichever thread made it.
  virtual void wait(const Event& event) = 0;
  /// Returns when everything enqueued is done. Throws Error where something of it failed.
  virtual void synchronize() = 0;

  /// Whether work can be captured, so that enqueuing it again costs as much as one piece of it.
  virtual bool can_capture() const { return false; }
  /// Calls `enqueue` and keeps what it enqueues here instead of doing it: with the same memory and numbers each time,
  /// and without events of other streams. Throws Error where that cannot be.
  virtual std::unique_ptr<Recording> capture(const std::function<void()>& enqueue);
};

/// Bytes that Device::allocate can still give, and all that there are, as far as the device knows: others take of them
/// too.
struct DeviceMemory {
  std::size_t free = 0, all = 0;
};

/// A place that holds memory and computes. One lane drives it.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceId id() const = 0;
  /// Threads that one kernel may use (1 on a GPU).
  virtual int threads() const = 0;
  /// Throws Error, naming the wanted bytes, where there is not enough memory.
  virtual Buffer allocate(std::size_t bytes) = 0;
  virtual DeviceMemory memory() const = 0;
  /// Host memory that the device reads and writes without detours (pinned, on a GPU). Throws like allocate.
  virtual Buffer allocate_host(std::size_t bytes) = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  /// One whose kernels go before those of other streams where both have some to start: for communication, which others
  /// wait for.
  virtual std::unique_ptr<Stream> make_urgent_stream() { return make_stream(); }
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Called once by the lane's thread before it uses the device: pins the threads of its team and sets how they
  /// compute.
  virtual void enter_thread() = 0;
  /// On the lane's thread: whether its team's threads keep to the cores that they were given, as they do at first, or
  /// run on any that the process may use.
  virtual void keep_to_own_cores(bool) {}
};

}  // namespace mirrortrain
