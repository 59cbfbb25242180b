#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "strategy/steps/working_lanes.h"

namespace mirrortrain {

/// One part of a step that the lanes of one host memory do together: each has a list of pieces, and a lane that is done
/// with its own goes on with those that others have not begun. So a lane that is not running, because another process
/// has its core, is not waited for longer than it must be. The pieces are the same whoever does them, and so are their
/// bits. Allocates nothing once the lists are there.
class SharedWork {
 public:
  enum class Order : std::uint8_t {
    kInTurn,  ///< each piece needs the one before it
    kAny,
  };

  /// `working` must outlive it.
  SharedWork(int lanes, WorkingLanes& working) : lists_(static_cast<std::size_t>(lanes)), working_(working) {}

  /// Before the first step: what `lane` has to do. `run` may be called from every lane's thread. Either all lanes have
  /// a list or none.
  void add_list(int lane, Order order, std::size_t pieces, std::function<void(std::size_t piece)> run);

  /// On `lane`'s thread: does its own pieces, then the others', unless it rests. Everything is done when every lane
  /// came to a meeting after it. Returns the seconds that it waited for lanes in the middle of a piece.
  /// Throws what a piece throws.
  double work(int lane);

  /// On `lane`'s thread: its pieces are to be done again. Between a meeting after `work` and one before the next.
  void restart(int lane);

 private:
  /// On cache lines of its own: mostly its lane alone writes it.
  struct alignas(64) List {
    Order order;
    std::uint32_t pieces;
    std::function<void(std::size_t)> run;
    /// In turn: twice the number of the next piece, and 1 more while a lane does it. In any order: the next piece.
    std::atomic<std::uint32_t> next = 0;
  };
  enum class Turn : std::uint8_t { kTaken, kOfAnother, kOver };
  static void work_in_any_order(List& list);
  void work_in_turn(List& list, double* waited);
  static Turn try_next(List& list);
  bool take_next_in_turn(List& list, double* waited);

  std::vector<std::unique_ptr<List>> lists_;  ///< by lane
  WorkingLanes& working_;
};

}  // namespace mirrortrain
