#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#include <ucontext.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#include <ucontext.h>
#endif

namespace mirrortrain::cuda::host {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Leaves the running stack, with its pointer in *from, and returns on the stack `to` that was left so. swapcontext
/// would call the system each time, and the kernels' threads give way some hundred million times in the tests. Inline
/// and without a `ret`, which would find another stack than the processor predicts. The 128 bytes below a stack's
/// pointer may be in use.
[[gnu::always_inline]] inline void switch_stack(void** from, void* to) {
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n pushq %%rbp\n leaq 1f(%%rip), %%rcx\n pushq %%rcx\n"
      "movq %%rsp, (%0)\n movq %1, %%rsp\n popq %%rcx\n jmp *%%rcx\n"
      "1: popq %%rbp\n leaq 128(%%rsp), %%rsp"
      : "+D"(from), "+S"(to)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
        "cc", "memory");
}
#endif

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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  /// The next resume() calls `entry`, which must not return.
  void start_with(void (*entry)()) {
    getcontext(&own_);
    own_.uc_stack.ss_sp = stack_ + kPage;
    own_.uc_stack.ss_size = kStackBytes - kPage;
    makecontext(&own_, entry, 0);
  }
#endif

#if defined(__SANITIZE_ADDRESS__)
  /// Returns when the fiber gives way.
  void resume() {
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stack_ + kPage, kStackBytes - kPage);
    swapcontext(&outside_, &own_);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
  }
  /// Continues where it was resumed, and where the next fiber is chosen.
  template <class Next>
  void give_way(const Next&) {
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
  template <class Next>
  void give_way(const Next&) {
    __tsan_switch_to_fiber(outside_known_as_, 0);
    swapcontext(&own_, &outside_);
  }
  void entered() {}
#else
  void start_with(void (*entry)()) {
    // Stacks begin at other places of their pages, else all would use the same few sets of the caches.
    static std::atomic<unsigned> count = 0;
    constexpr unsigned kPlaces = 64, kApart = 9 * 64;
    std::byte* const end = stack_ + kStackBytes - count++ % kPlaces * kApart;
    // As switch_stack leaves a stack: where it returns to, which finds the stack as a call does.
    auto* const top = reinterpret_cast<std::uintptr_t*>(end) - 1;
    top[0] = 0;  // entry's caller: there is none
    top[-1] = reinterpret_cast<std::uintptr_t>(entry);
    own_ = top - 1;
  }
  void resume() { switch_stack(&outside_, own_); }
  /// Continues in the fiber that `next` returns, until one continues in this one; null: where a fiber was resumed.
  template <class Next>
  void give_way(const Next& next) {
    if (Fiber* const other = next(); other != this) switch_stack(&own_, other == nullptr ? outside_ : other->own_);
  }
  void entered() {}
#endif

 private:
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10, kPage = 4096;

  std::byte* stack_ = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  ucontext_t own_{}, outside_{};
  const void* outside_stack_ = nullptr;
  std::size_t outside_bytes_ = 0;
#elif defined(__SANITIZE_THREAD__)
  ucontext_t own_{}, outside_{};
  void *known_as_ = nullptr, *outside_known_as_ = nullptr;  ///< to the sanitizer
#else
  // The pointers of the stacks that were left.
  void* own_ = nullptr;
  static inline thread_local void* outside_ = nullptr;
#endif
};

}  // namespace mirrortrain::cuda::host
