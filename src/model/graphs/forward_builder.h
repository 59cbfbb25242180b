#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/graphs/description.h"
#include "model/layer_builder.h"
#include "model/model.h"

namespace mirrortrain {

/// Builds the layers of one of a model's graphs.
class ForwardBuilder {
 public:
  /// All must outlive it. `mode`: which of the model's graphs.
  ForwardBuilder(const ModelDescription& description, Mode mode, Model& model);

  /// From the inputs to the outputs. Returns whether all of them could be determined; what is wrong with layers is
  /// added to the description's errors.
  bool run();

  /// For what comes behind the layers.
  LayerBuilder& layers() { return builder_; }

 private:
  /// A layer's output. Guessed if an already reported wrong option on the path to it was replaced by its default.
  struct Output {
    ValueId value = kNoValue;
    bool guessed = false;
    ValueId mask = kNoValue;  ///< of the output
  };
  struct Inputs {
    std::vector<ValueId> values, masks;
    bool guessed = false;
  };

  Output add_layer(std::size_t number, const Inputs& inputs);
  ValueId build(const Layer& layer, std::span<const ValueId> inputs, bool in_reverse);
  /// The mask on the output of the layer just built; warns the user if a mask ends there.
  ValueId output_mask(const config::Located<Layer>& layer, const Layer& built);

  const ModelDescription& in_;
  Model& model_;
  ModelGraph& made_;
  LayerBuilder builder_;
  std::vector<Output> known_;  ///< the model's inputs, then the layers
};

/// Adds an error for a table of the call in reverse where there is no such call: it would be trained by nothing.
void check_reverse_calls(const ModelOptions& options, const Wiring& wiring, config::Errors& errors);

/// A value as another type, unless it is of this one.
ValueId as_dtype(Graph& graph, ValueId value, DType dtype);

}  // namespace mirrortrain
