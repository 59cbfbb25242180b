#include "model/layers/dropout.h"

#include "base/philox.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::layers {

config::Section<Dropout> Dropout::section() {
  return config::Section<Dropout>(
             "Sets elements to 0 at random during training, and scales the others by 1 / (1 - rate).")
      .advice("keep_prob", "write rate, the part that is set to 0: 1 - keep_prob")
      .key("rate", &Dropout::rate, "Fraction of the elements to drop.", config::required, config::at_least(0),
           config::less_than(1), config::aliases("p, prob, probability, dropout_rate"))
      .include<LayerCommon>();
}

ValueId Dropout::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (builder.mode() == Mode::kEvaluation || rate == 0) return sources[0];
  const auto stream = static_cast<std::uint32_t>(hash_of_name(builder.layer()));
  return builder.apply(ops::Dropout(rate, stream), {sources[0]});
}

}  // namespace mirrortrain::layers
