#include "model/layers/lora.h"

#include <fmt/format.h>

#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/matmul.h"

namespace mirrortrain::layers {

config::Section<Lora> Lora::section() {
  return config::Section<Lora>("Low-rank adaptation of a weight.")
      .key("lora_rank", &Lora::lora_rank,
           "Freezes the weight and trains the product of two matrices of this rank that is added to it; null: trains "
           "the weight itself.",
           config::at_least(1), config::at_most(1 << 20))
      .key("lora_alpha", &Lora::lora_alpha,
           "With lora_rank: the product is added lora_alpha / lora_rank times; null: once.")
      .check("lora_alpha", [](const Lora& layer) {
        return std::string(layer.lora_alpha && !layer.lora_rank ? "has no effect without lora_rank; add it" : "");
      });
}

std::string with_lora(const Lora& layer, const std::optional<Constraint>& constraint) {
  return layer.lora_rank && constraint ? "with lora_rank the weight is frozen; remove one of the two" : "";
}

ValueId Lora::weight(LayerBuilder& builder, std::string_view name, const Shape& shape, const Initializer& initializer,
                     const std::optional<Regularizer>& regularizer, const std::optional<Constraint>& constraint) const {
  if (!lora_rank) return builder.weight(name, shape, initializer, regularizer, constraint);
  const ValueId frozen = builder.statistic(name, shape, initializer);
  Shape of_a = shape;
  of_a[of_a.rank() - 1] = *lora_rank;
  const Shape of_b{*lora_rank, shape.back()};
  ValueId a = builder.weight(fmt::format("lora_{}_a", name), of_a, initializers::HeUniform{}, regularizer);
  const ValueId b = builder.weight(fmt::format("lora_{}_b", name), of_b, initializers::Zeros{}, regularizer);
  a = builder.apply(ops::Reshape({shape.elements() / shape.back(), *lora_rank}), {a});
  ValueId product = builder.apply(ops::MatMul(), {a, b});
  const double factor = lora_alpha ? *lora_alpha / static_cast<double>(*lora_rank) : 1;
  if (factor != 1) product = builder.apply(ops::Scale(static_cast<float>(factor)), {product});
  return builder.apply(ops::AddN(), {frozen, builder.apply(ops::Reshape(shape), {product})});
}

}  // namespace mirrortrain::layers
