#include "graph/ops/activation_kind.h"

namespace mirrortrain::ops {

bool derivative_from_output(ActivationKind kind) {
  return kind != ActivationKind::kSilu && kind != ActivationKind::kGelu;
}

}  // namespace mirrortrain::ops
