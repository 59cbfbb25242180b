#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "device/device.h"
#include "kernels/backend.h"
#include "model/model.h"
#include "model/optimizers/direction_graph.h"
#include "runtime/program.h"
#include "strategy/variables/domain_lane.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// The program that makes directions of variables of one update and one shape, on a device.
class DirectionProgram {
 public:
  /// Call it on the thread that runs the program. Throws Error if the device lacks a kernel.
  DirectionProgram(const VariableUpdate& update, const Shape& shape, const Backend& backend,
                   const KernelRegistry& registry, int threads);

  /// What it reads and writes of a variable and a step.
  struct Memory {
    float* gradient = nullptr;  ///< becomes the direction
    const float* weight = nullptr;
    std::vector<float*> states;
    const StepParams* params = nullptr;
    std::byte* work = nullptr;        ///< work_bytes(), which programs that run one after the other can share
    unsigned* blocks_done = nullptr;  ///< see KernelArgs
  };
  std::size_t work_bytes() const;

  /// The program with its memory, which must outlive it, as this object must.
  class Bound {
   public:
    Bound(const DirectionProgram& of, const Memory& memory);
    void enqueue(Stream& stream);

   private:
    struct Copy {
      float* to;
      const std::byte* from;
      std::size_t bytes;
    };
    BoundProgram program_;
    std::vector<Copy> copies_;  ///< of the results, once nothing reads what they replace
  };

 private:
  std::vector<std::pair<ValueId, std::size_t>> results() const;

  int optimizer_;
  DirectionGraph made_;
  Program program_;
};

/// A lane's share of the directions in its memory: whole variables of what replicas share, and all of its replicas' own
/// variables. Which lane makes a direction changes no bit of it.
class Directions {
 public:
  /// Call it on the lane's thread. `lane`: its params and replicas are read. All must outlive it.
  Directions(const Model& model, const VariableStore& variables, const Backend& backend, Device& device,
             const DomainLane& lane);

  /// Call it once the gradients are accumulated and the params are set.
  void enqueue(Stream& stream);
  /// Of the device's memory.
  std::size_t bytes() const { return work_.bytes() + blocks_done_.bytes(); }

 private:
  struct Known {
    VariableUpdate update;
    Shape shape;
    DirectionProgram program;
  };
  const DirectionProgram& program_for(const VariableUpdate& update, const Shape& shape, const Backend& backend,
                                      Device& device);

  std::shared_ptr<const KernelRegistry> registry_;
  std::deque<Known> programs_;
  Buffer work_, blocks_done_;
  std::vector<DirectionProgram::Bound> bound_;
};

}  // namespace mirrortrain
