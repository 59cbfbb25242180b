#include "model/layers/wrapper.h"

namespace mirrortrain::layers {

std::string wrong_inside(const LayerCommon& inside) {
  if (!inside.inputs.empty()) return "the layer inside reads what the wrapper does; move `inputs` beside `layer`";
  if (!inside.trainable) return "the wrapper says whether its layer is trained; move `trainable` beside `layer`";
  if (inside.activity_regularizer)
    return "the wrapper's output is regularized; move `activity_regularizer` beside `layer`";
  return "";
}

}  // namespace mirrortrain::layers
