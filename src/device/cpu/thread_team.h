#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/cpu/sleepers.h"
#include "device/cpu/team_thread.h"

namespace mirrortrain {

/// The threads that compute a thread's parallel loops: itself and its helpers. A loop consists of parts, and each
/// thread takes the next one as it gets to it: a helper whose core another process has takes none, and nobody waits for
/// it. If it loses its core in the middle of a part, those who would wait for it move it to theirs, so that the loop
/// takes some microseconds longer, not a time slice of the other process. If the calling thread itself loses its core,
/// it exchanges cores with a helper for good, because what is not parallel needs it. No bit depends on which thread
/// runs which part.
///
/// Nothing is allocated except by `resize`, and by the first loop that asks for more threads than there are.
class ThreadTeam {
 public:
  using Part = void (*)(void* argument, int part) noexcept;

  static constexpr int kMostParts = (1 << 24) - 1;

  /// The calling thread's team: this thread alone at first. It ends with the thread.
  static ThreadTeam& of_this_thread();

  /// Whether the calling thread runs a part of a loop, so that loops in it have one thread.
  static bool is_inside_part();

  ThreadTeam() = default;
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  /// The calling thread as a member; null if the team was never resized.
  TeamThread* self() const { return members_.empty() ? nullptr : members_.front().get(); }

  /// On the team's own thread: that many threads, this one included, each on its own core of `cores`, or if there are
  /// none wherever the system runs them. Helpers treat denormals as this thread does. Throws Error if the system cannot
  /// start them.
  void resize(int threads, const std::vector<int>& cores);

  /// Whether each thread keeps to its own core, as it does initially, or runs on any that this process may use. Without
  /// cores of their own nothing changes.
  void keep_to_own_cores(bool keep);

  /// Calls call(argument, part) for each part in [0, parts), on the calling thread and at most `threads` - 1 helpers,
  /// in any order and at the same time. Returns when all are done; their writes are visible then. Inside of a part it
  /// calls them one after the other on the same thread. Where there are no more parts than threads, each part may wait
  /// for the others. Throws Error as `resize` does. `parts` is at most kMostParts.
  void run(int threads, int parts, Part call, void* argument);

  /// Inside of a part of a loop that has no more parts than threads: returns when all `parts` of it have called this.
  void meet(int parts);

 private:
  /// One word, so that whoever takes a part takes one of the loop under way: the threads that may, how many parts there
  /// are, and how many are taken.
  struct Offer {
    static constexpr int kBits = 24;
    std::uint64_t word;

    static Offer of(int threads, int parts) {
      return {static_cast<std::uint64_t>(threads) << 2 * kBits | static_cast<std::uint64_t>(parts) << kBits};
    }
    int next() const { return static_cast<int>(word & kMostParts); }
    bool is_for(int thread) const {
      const auto parts = static_cast<int>(word >> kBits & kMostParts);
      return thread < static_cast<int>(word >> 2 * kBits) && next() < parts;
    }
  };

  void start_helpers(int threads);
  void end_helpers();
  void help(int number);
  void take_parts(int number);
  void wait_for_offer(int number);
  template <class Done>
  void wait(TeamThread& self, Sleepers& sleepers, const Done& done);
  template <class Done>
  bool bring_back_others(TeamThread& self, const Done& done);
  int free_core(const TeamThread& self, int number) const;
  bool is_offered(int number) const { return Offer{offer_.load()}.is_for(number); }

  std::vector<int> cores_;                            ///< one per thread, or none
  std::vector<std::unique_ptr<TeamThread>> members_;  ///< the first is the calling thread
  std::vector<std::thread> helpers_;
  std::mutex bringing_back_;
  std::atomic<bool> stop_ = false;
  Part call_ = nullptr;
  void* argument_ = nullptr;
  alignas(64) std::atomic<std::uint64_t> offer_ = 0;
  Sleepers for_offers_;
  alignas(64) std::atomic<int> unfinished_ = 0;  ///< parts of the loop under way
  Sleepers for_end_;
  alignas(64) std::atomic<int> arrived_ = 0;  ///< in `meet`
  std::atomic<std::uint32_t> meetings_ = 0;
  Sleepers for_meeting_;
};

}  // namespace mirrortrain
