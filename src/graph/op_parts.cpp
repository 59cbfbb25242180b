// The rule of each op: how it is computed in parts, by rows of its contraction, whose products are added, or along an
// axis that it leaves alone. A new op without a rule here is computed as a whole at every place.
#include "graph/op_parts.h"

#include <typeindex>
#include <unordered_map>

#include "graph/ops/arrange.h"
#include "graph/ops/attention.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/collective.h"
#include "graph/ops/combine.h"
#include "graph/ops/constant.h"
#include "graph/ops/conv.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/embedding.h"
#include "graph/ops/loss.h"
#include "graph/ops/mask.h"
#include "graph/ops/metric.h"
#include "graph/ops/pointwise.h"
#include "graph/ops/pool2d.h"
#include "graph/ops/recurrent.h"
#include "graph/ops/synchronized_batch_norm.h"
#include "graph/ops/upsample2d.h"
#include "graph/parts/along_axes.h"
#include "graph/parts/class_parts.h"
#include "graph/parts/contractions.h"
#include "graph/parts/normalizations.h"

namespace mirrortrain {
namespace {

using parts::Ways;
using Rule = Ways (*)(const DividedNode&);
template <class OpType>
std::pair<const std::type_index, Rule> rule(Rule of) {
  return {typeid(OpType), of};
}

const std::unordered_map<std::type_index, Rule>& rules() {
  static const std::unordered_map<std::type_index, Rule> all{
      rule<ops::Activation>(parts::elementwise),
      rule<ops::AddN>(parts::elementwise),
      rule<ops::AllReduce>(parts::collective),
      rule<ops::Attention>(parts::attention),
      rule<ops::AveragePool2d>(parts::by_channels),
      rule<ops::BatchNorm>(parts::batch_norm),
      rule<ops::BatchNormBySums>(parts::batch_norm_by_sums),
      rule<ops::BatchNormInference>(parts::batch_norm),
      rule<ops::BatchNormSums>(parts::batch_norm_sums),
      rule<ops::Cast>(parts::elementwise),
      rule<ops::Combine>(parts::elementwise),
      rule<ops::Concatenate>(parts::concatenate),
      rule<ops::Constant>(parts::constant),
      rule<ops::Conv2d>(parts::convolution),
      rule<ops::Conv2dInputGradient>(parts::transposed_convolution),
      rule<ops::Crop>(parts::crop),
      rule<ops::Dense>(parts::dense),
      rule<ops::DenseInputGradient>(parts::transposed_dense),
      rule<ops::Dropout>(parts::dropout),
      rule<ops::Embedding>(parts::embedding),
      rule<ops::Flip>(parts::flip),
      rule<ops::FullMask>(parts::only_rows),
      rule<ops::GlobalAveragePool2d>(parts::over_positions),
      rule<ops::GlobalMaxPool2d>(parts::over_positions),
      rule<ops::Loss>(loss_in_parts),
      rule<ops::MaskedMean>(parts::masked_mean),
      rule<ops::MaxPool2d>(parts::by_channels),
      rule<ops::MaxTo>(parts::max_to),
      rule<ops::Metric>(metric_in_parts),
      rule<ops::MovingStatistics>(parts::moving_statistics),
      rule<ops::Pad>(parts::pad),
      rule<ops::Pointwise>(parts::elementwise),
      rule<ops::RandomNormal>(parts::only_rows),
      rule<ops::Recurrent>(parts::recurrent),
      rule<ops::RenormStatistics>(parts::moving_statistics),
      rule<ops::Reshape>(parts::reshape),
      rule<ops::Scale>(parts::elementwise),
      rule<ops::Select>(parts::select),
      rule<ops::Softmax>(parts::softmax),
      rule<ops::SumTo>(parts::sum_to),
      rule<ops::Transpose>(parts::transpose),
      rule<ops::Upsample2d>(parts::by_channels),
  };
  return all;
}

}  // namespace

std::vector<OpParts> parts_of_op(const DividedNode& node) {
  const Op& op = *node.node.op;
  const auto found = rules().find(typeid(op));
  return found == rules().end() ? Ways() : found->second(node);
}

}  // namespace mirrortrain
