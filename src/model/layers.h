#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "config/scalar.h"
#include "model/layers/activation.h"
#include "model/layers/attention.h"
#include "model/layers/batch_normalization.h"
#include "model/layers/bidirectional.h"
#include "model/layers/conv.h"
#include "model/layers/dense.h"
#include "model/layers/dot.h"
#include "model/layers/dropout.h"
#include "model/layers/embedding.h"
#include "model/layers/expression.h"
#include "model/layers/merge.h"
#include "model/layers/normalization.h"
#include "model/layers/pooling.h"
#include "model/layers/prelu.h"
#include "model/layers/recurrent.h"
#include "model/layers/reshape.h"
#include "model/layers/reuse.h"
#include "model/layers/sequence.h"
#include "model/layers/spatial_size.h"

namespace mirrortrain {

/// The list of layers. To add one: a file in model/layers and a line here.
using Layer = std::variant<
    layers::Dense, layers::Conv<1>, layers::Conv<2>, layers::Conv<3>, layers::ConvTranspose<1>,
    layers::ConvTranspose<2>, layers::ConvTranspose<3>, layers::DepthwiseConv<1>, layers::DepthwiseConv<2>,
    layers::SeparableConv<1>, layers::SeparableConv<2>, layers::Embedding, layers::PositionEmbedding,
    layers::ClassToken, layers::MultiHeadAttention, layers::SimpleRnn, layers::Lstm, layers::Gru, layers::Bidirectional,
    layers::MaxPooling<1>, layers::MaxPooling<2>, layers::MaxPooling<3>, layers::AveragePooling<1>,
    layers::AveragePooling<2>, layers::AveragePooling<3>, layers::AdaptiveMaxPooling<1>, layers::AdaptiveMaxPooling<2>,
    layers::AdaptiveMaxPooling<3>, layers::AdaptiveAveragePooling<1>, layers::AdaptiveAveragePooling<2>,
    layers::AdaptiveAveragePooling<3>, layers::GlobalMaxPooling<1>, layers::GlobalMaxPooling<2>,
    layers::GlobalMaxPooling<3>, layers::GlobalAveragePooling<1>, layers::GlobalAveragePooling<2>,
    layers::GlobalAveragePooling<3>, layers::ZeroPadding<1>, layers::ZeroPadding<2>, layers::ZeroPadding<3>,
    layers::Cropping<1>, layers::Cropping<2>, layers::Cropping<3>, layers::Upsampling<1>, layers::Upsampling2d,
    layers::Upsampling<3>, layers::Flatten, layers::Reshape, layers::RepeatVector, layers::Permute, layers::Flip,
    layers::MaskByValue, layers::Activation, layers::Softmax, layers::Relu, layers::LeakyRelu, layers::Elu,
    layers::Prelu, layers::Identity, layers::Dropout, layers::SpatialDropout<1>, layers::SpatialDropout<2>,
    layers::SpatialDropout<3>, layers::GaussianDropout, layers::GaussianNoise, layers::AlphaDropout,
    layers::BatchNormalization, layers::LayerNormalization, layers::GroupNormalization, layers::RmsNormalization,
    layers::UnitNormalization, layers::Add, layers::Subtract, layers::Multiply, layers::Average, layers::Maximum,
    layers::Minimum, layers::Concatenate, layers::Dot, layers::Reuse, layers::Expression>;

/// Whether a recurrent layer processes its sequence from the last time step to the first.
inline bool goes_backwards(const Layer& layer) {
  if (std::holds_alternative<layers::Bidirectional>(layer)) return true;
  return std::visit(
      [](const auto& options) {
        if constexpr (requires { options.go_backwards; }) return options.go_backwards;
        return false;
      },
      layer);
}

/// The prefix of the names of unreadable layers, followed by the type if known.
inline constexpr std::string_view kUnreadName = "?";

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Layer> {
  static constexpr std::string_view noun = "a layer";
  static constexpr bool set_keeps_name = true;
  static constexpr auto advice = std::to_array<Advice>(
      {{"time_distributed",
        "list the layer alone: dense, activation, dropout and layer_normalization treat each step of a sequence by "
        "itself"},
       {"input, input_layer",
        "the shape of an example is model.input_shape, and the layers begin with what computes on it; leave it out"},
       {"string_lookup, integer_lookup, category_encoding",
        "words become numbers where the table is read: encoding: {COLUMN: index} or one_hot of its source; leave it "
        "out"},
       {"text_vectorization",
        "texts become numbers where they are read: format text, or as: text among the inputs of a csv; leave it out"},
       {"to_tensor", "files of pictures are read as numbers from 0 to 255; list rescaling in data.preprocessing"}});
  /// Keeps its name, to which other layers' `inputs` may refer; without one, its type after kUnreadName.
  static void remember(const Value& item, Layer& layer) {
    const bool is_entry = item.is_mapping() && item.entries().size() == 1;
    const auto type = is_entry ? std::optional(item.entries()[0].key) : as_text(item);
    const Value::Entry* const name =
        is_entry && item.entries()[0].value.is_mapping() ? item.entries()[0].value.find("name") : nullptr;
    const auto given = name != nullptr ? as_text(name->value) : std::nullopt;
    const auto known = given || !type ? given : std::string(kUnreadName) + *type;
    std::visit([&](auto& options) { options.name.value = known; }, layer);
  }
};
