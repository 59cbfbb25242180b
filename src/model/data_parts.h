#pragma once

#include <cstddef>
#include <functional>

#include "model/model.h"

namespace mirrortrain {

/// How weights are divided among the places of the axis `data`, so that each keeps and updates its flat parts alone, as
/// in ZeRO (Rajbhandari et al., arXiv 1910.02054), stages 2 and 3, and PyTorch's FSDP (Zhao et al., arXiv 2304.11277).
struct DataParts {
  int places = 1;
  /// Whether backward gathers the weights again (stage 3); else they are kept from forward on (stage 2).
  bool regathers = false;
  /// Whether a variable, by its number, may be divided: one that each replica has for itself may not.
  std::function<bool(std::size_t variable)> divides{};
};

/// Weights of fewer elements stay whole: gathering them would take longer than it saves.
inline constexpr std::int64_t kFewestDividedElements = 1024;

/// The model where places have parts of the large weights, which its graphs gather before the layers that read them;
/// the gradients are parts of the sums over all places. ModelVariable::data_parts says which are divided.
Model divided_over_data(Model model, const DataParts& parts);

}  // namespace mirrortrain
