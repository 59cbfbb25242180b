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
#include "model/layers/conv.h"
#include "model/layers/dense.h"
#include "model/layers/dot.h"
#include "model/layers/dropout.h"
#include "model/layers/embedding.h"
#include "model/layers/expression.h"
#include "model/layers/image_size.h"
#include "model/layers/merge.h"
#include "model/layers/normalization.h"
#include "model/layers/pooling2d.h"
#include "model/layers/prelu.h"
#include "model/layers/recurrent.h"
#include "model/layers/reshape.h"
#include "model/layers/reuse.h"
#include "model/layers/sequence.h"

namespace mirrortrain {

/// The list of layers. To add one: a file in model/layers and a line here.
using Layer = std::variant<
    layers::Dense, layers::Conv2d, layers::DepthwiseConv2d, layers::SeparableConv2d, layers::Conv2dTranspose,
    layers::Conv1d, layers::Embedding, layers::PositionEmbedding, layers::ClassToken, layers::Cropping1d,
    layers::MultiHeadAttention, layers::Lstm, layers::Gru, layers::MaxPooling2d, layers::AveragePooling2d,
    layers::GlobalAveragePooling2d, layers::GlobalMaxPooling2d, layers::GlobalAveragePooling1d, layers::ZeroPadding2d,
    layers::Upsampling2d, layers::Flatten, layers::Reshape, layers::Permute, layers::Flip, layers::Activation,
    layers::Softmax, layers::Prelu, layers::Dropout, layers::BatchNormalization, layers::LayerNormalization,
    layers::GroupNormalization, layers::Add, layers::Subtract, layers::Multiply, layers::Average, layers::Maximum,
    layers::Minimum, layers::Concatenate, layers::Dot, layers::Reuse, layers::Expression>;

/// Whether a recurrent layer processes its sequence from the last time step to the first.
inline bool goes_backwards(const Layer& layer) {
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
       {"gaussian_noise, gaussian_dropout, alpha_dropout, spatial_dropout1d, spatial_dropout2d",
        "no layer but dropout draws random numbers; take it"},
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
