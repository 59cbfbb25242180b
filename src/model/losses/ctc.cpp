#include "model/losses/ctc.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/ctc.h"

namespace mirrortrain::losses {

config::Section<Ctc> Ctc::section() {
  return config::Section<Ctc>(
             "Connectionist temporal classification of sequences, such as speech or handwriting, whose labels are "
             "shorter than they are and not aligned with them. The output is logits [steps, classes], of which class 0 "
             "is the blank; labels are classes from 1 on, padded with 0 behind.")
      .key("label_length", &Ctc::label_length,
           "The most symbols of a label: labels are [label_length], as in the data.", config::required,
           config::at_least(1), config::at_most(1 << 20), config::aliases("max_label_length, target_length"))
      .include<LossCommon>();
}

std::vector<ValueId> Ctc::inputs(Graph& graph, ValueId output, ValueId labels) const {
  const Shape& shape = graph.spec(output).shape;
  if (shape.rank() != 2) {
    throw Error(
        fmt::format("expected an output [steps, classes], found {}; give the last layers return_sequences: true "
                    "or dense layers of each step",
                    shape.text()));
  }
  if (shape[0] < label_length) {
    throw Error(fmt::format("expected at least as many steps as label_length, {}, found {}", label_length, shape[0]));
  }
  const ValueId loss = graph.apply_one(ops::Ctc(), {output, labels});
  return {loss, loss};
}

}  // namespace mirrortrain::losses
