#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "base/tensor_view.h"
#include "device/device.h"
#include "graph/graph.h"
#include "kernels/scalar/step_params.h"

namespace mirrortrain {

struct KernelArgs {
  std::span<const TensorView> inputs;   ///< data is null for an absent optional input
  std::span<const TensorView> outputs;  ///< data is null for an output that is not read
  std::byte* workspace = nullptr;       ///< workspace_bytes(), aligned to 64, contents undefined
  const StepParams* step = nullptr;
  unsigned* blocks_done = nullptr;  ///< device memory, 0 before and after: a kernel's finished blocks
};

/// A copy of an input in the form that a kernel reads fastest (another dtype, blocking or domain). The lowering keeps
/// one per variable and device for all kernels with the same `key`, and refreshes it after each update; for an input
/// that is not a variable, before the kernel. The kernel then receives the copy as that input's `data`.
struct DerivedForm {
  std::string key;
  std::size_t bytes = 0;
  std::function<void(Stream&, const TensorView& canonical, std::byte* copy)> refresh;
  bool is_rounded = false;  ///< only the elements as bfloat16, in the same order
  /// The form for a variable stored as filters_out_first says; without `refresh` if the variable itself
  /// can be read.
  std::shared_ptr<const DerivedForm> of_out_first;
};

/// One op at fixed shapes on one device. Created when the program is built; enqueue allocates nothing and may be called
/// with different data each time, but only by one lane at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
  virtual std::optional<DerivedForm> derived_form(std::size_t /*input*/) const { return std::nullopt; }
  virtual void enqueue(Stream& stream, const KernelArgs& args) = 0;
};

/// The shapes that a kernel is created for, with rows in front of batched ones; data pointers are null.
struct KernelSpecs {
  std::vector<TensorView> inputs;  ///< an absent optional input has the shape [0]
  std::vector<TensorView> outputs;
  std::vector<bool> input_present;
  int threads = 1;  ///< how many threads the kernel may use
};

/// Maps op classes to kernels of one backend.
class KernelRegistry {
 public:
  template <class OpType, class Maker>
  void add(Maker maker) {
    makers_[std::type_index(typeid(OpType))] = [maker](const Op& op,
                                                       const KernelSpecs& specs) -> std::unique_ptr<Kernel> {
      return maker(static_cast<const OpType&>(op), specs);
    };
  }

  /// Throws Error naming op, dtype and backend if there is no kernel.
  std::unique_ptr<Kernel> make(const Op& op, const KernelSpecs& specs) const;

  explicit KernelRegistry(std::string backend) : backend_(std::move(backend)) {}

  using Make = std::function<std::unique_ptr<Kernel>(const Op&, const KernelSpecs&)>;
  /// A registry of the same ops, whose kernels `wrap` creates from this registry's makers.
  KernelRegistry wrapped(
      const std::function<std::unique_ptr<Kernel>(const Make&, const Op&, const KernelSpecs&)>& wrap) const;

 private:
  std::string backend_;
  std::unordered_map<std::type_index, Make> makers_;
};

}  // namespace mirrortrain
