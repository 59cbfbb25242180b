#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "graph/graph.h"
#include "kernels/copy_kernels.h"
#include "kernels/kernel.h"
#include "kernels/row_kernels.h"
#include "kernels/step_kernels.h"
#include "kernels/variable_layout.h"

namespace mirrortrain {

/// A kind of device: its memory, streams and kernels.
class Backend {
 public:
  virtual ~Backend() = default;

  /// The index-th device for one lane. `threads` and `cores` (one per thread, or none) are for devices that compute on
  /// the host's. Throws UsageError where it does not exist.
  virtual std::unique_ptr<Device> make_device(int index, int threads, const std::vector<int>& cores) const = 0;

  /// The kernels of programs for a device made here. A lane has its own, made on its thread.
  virtual std::shared_ptr<const KernelRegistry> make_registry(const Device& device) const = 0;

  /// The graph with the ops that this kind of device runs in one kernel fused into one op; the same for all its
  /// devices. Values in `outputs` are still computed.
  virtual Graph merged(const Graph& graph, const std::vector<ValueId>& /*outputs*/) const { return graph; }

  /// The variables that the devices' memory keeps in another layout than files do, with their gradients and slots.
  /// `graphs`: of one model. Throws Error where no layout suits all their readers.
  virtual VariableLayouts layouts(std::span<const GraphVariables> /*graphs*/) const { return {}; }

  virtual const StepKernels& step_kernels() const = 0;

  /// Null where the host fills input buffers itself.
  virtual const RowKernels* row_kernels() const = 0;

  /// Null where the host combines a variable's copies itself.
  virtual const CopyKernels* copy_kernels() const = 0;
};

}  // namespace mirrortrain
