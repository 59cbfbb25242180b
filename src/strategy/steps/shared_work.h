#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "strategy/steps/late_lanes.h"
#include "strategy/steps/step_plan.h"
#include "strategy/steps/working_lanes.h"

namespace mirrortrain {

/// A part of a step that the lanes of one host memory share: each has a list of pieces, and a lane that finishes its
/// own continues with pieces that others have not begun. So waiting for a lane that is not running, because another
/// process has its core, is minimal. The pieces, and therefore their bits, are the same whichever lane runs them. Does
/// not allocate once the lists are added.
class SharedWork {
 public:
  enum class Order : std::uint8_t {
    kInTurn,  ///< each piece needs the previous one
    kAny,
  };

  using Run = std::function<void(std::size_t piece, const Step& step)>;

  /// `working` must outlive it, and so must `late`, which may be null: lanes without a core are not helped then.
  SharedWork(int lanes, WorkingLanes& working, LateLanes* late = nullptr)
      : lists_(static_cast<std::size_t>(lanes)), working_(working), late_(late) {}

  /// Call before the first step: sets the work of `lane`. `run` may be called from every lane's thread. Either all
  /// lanes have a list or none.
  void add_list(int lane, Order order, std::size_t pieces, Run run);

  /// On `lane`'s thread: runs its own pieces, then the others', unless it rests. Everything is done when every lane has
  /// reached a barrier afterwards. Returns the seconds that it waited for lanes in the middle of a piece. Throws a
  /// piece's exceptions.
  double work(int lane, const Step& step);

  /// On `lane`'s thread: makes its pieces due again. Between a barrier after `work` and one before the next.
  void restart(int lane);

 private:
  /// On its own cache lines: mostly only its lane writes it.
  struct alignas(64) List {
    Order order;
    std::uint32_t pieces;
    Run run;
    /// In order: twice the number of the next piece, plus 1 while a lane runs it. In any order: the next piece.
    std::atomic<std::uint32_t> next = 0;
    std::atomic<int> lane = 0;  ///< in order: which runs a piece
  };
  enum class Turn : std::uint8_t { kTaken, kOfAnother, kOver };
  static void work_in_any_order(List& list, const Step& step);
  void work_in_turn(int lane, List& list, const Step& step, double* waited);
  static Turn try_next(List& list);
  bool take_next_in_turn(List& list, double* waited);

  std::vector<std::unique_ptr<List>> lists_;  ///< by lane
  WorkingLanes& working_;
  LateLanes* late_;
};

}  // namespace mirrortrain
