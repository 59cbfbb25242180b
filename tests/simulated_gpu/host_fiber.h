#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>

#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace mirrortrain::cuda::host {

/// A stack of its own that work switches to and from.
class Fiber {
 public:
  Fiber() {
    void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("no memory for a fiber's stack");
    stack_ = static_cast<std::byte*>(memory);
    mprotect(stack_, kPage, PROT_NONE);  // a stack that grows too large ends the program at once
  }
  ~Fiber() {
#if defined(__SANITIZE_THREAD__)
    if (known_as_ != nullptr) __tsan_destroy_fiber(known_as_);
#endif
    munmap(stack_, kStackBytes);
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next resume() calls `entry`, which must not return.
  void start_with(void (*entry)()) {
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_ + kPage;
    own_.uc_stack.ss_size = kStackBytes - kPage;
    makecontext(&own_, entry, 0);
  }

#if defined(__SANITIZE_ADDRESS__)
  /// Returns when the fiber gives way.
  void resume() {
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stack_ + kPage, kStackBytes - kPage);
    swapcontext(&outside_, &own_);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
  }
  void give_way() {
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, outside_stack_, outside_bytes_);
    swapcontext(&own_, &outside_);
    __sanitizer_finish_switch_fiber(fake, &outside_stack_, &outside_bytes_);
  }
  /// The first thing that the entry does.
  void entered() { __sanitizer_finish_switch_fiber(nullptr, &outside_stack_, &outside_bytes_); }
#elif defined(__SANITIZE_THREAD__)
  void resume() {
    if (known_as_ == nullptr) known_as_ = __tsan_create_fiber(0);
    outside_known_as_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(known_as_, 0);
    swapcontext(&outside_, &own_);
  }
  void give_way() {
    __tsan_switch_to_fiber(outside_known_as_, 0);
    swapcontext(&own_, &outside_);
  }
  void entered() {}
#else
  // Jumps, since a switch of contexts is a system call.
  void resume() {
    if (_setjmp(outside_) != 0) return;
    if (entered_) _longjmp(inside_, 1);
    setcontext(&own_);
  }
  void give_way() {
    if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
  }
  void entered() { entered_ = true; }
#endif

 private:
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10, kPage = 4096;

  ucontext_t own_{};
  std::byte* stack_ = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  ucontext_t outside_{};
  const void* outside_stack_ = nullptr;
  std::size_t outside_bytes_ = 0;
#elif defined(__SANITIZE_THREAD__)
  ucontext_t outside_{};
  void *known_as_ = nullptr, *outside_known_as_ = nullptr;  ///< to the sanitizer
#else
  jmp_buf outside_{}, inside_{};
  bool entered_ = false;
#endif
};

}  // namespace mirrortrain::cuda::host
