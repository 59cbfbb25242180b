#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "model/layers/spectral_normalization.h"
#include "model/layers/time_distributed.h"
#include "model/plain_layers.h"

namespace mirrortrain {

/// The types of a list, and others.
template <class... Others, class... Listed>
config::Types<Listed..., Others...> extended(const config::Types<Listed...>*);

/// Every layer.
struct Layers
    : decltype(extended<layers::TimeDistributed, layers::SpectralNormalization>(config::detail::kList<PlainLayers>)) {};
struct Layer : config::OneOf<Layers> {
  using OneOf::OneOf;
};

/// Whether the name is that of a layer's type, such as "dense".
bool is_layer_type(std::string_view name);

/// Whether a recurrent layer processes its sequence from the last time step to the first.
bool goes_backwards(const Layer& layer);

/// Null for a layer that is no embedding.
const layers::EmbeddingOptions* embedding_of(const Layer& layer);

/// The prefix of the names of unreadable layers, followed by the type if known.
inline constexpr std::string_view kUnreadName = "?";

}  // namespace mirrortrain

extern template class mirrortrain::config::OneOf<mirrortrain::Layers>;

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Layer> {
  static constexpr std::string_view noun = "a layer";
  static constexpr bool set_keeps_name = true;
  static constexpr auto advice = std::to_array<Advice>(
      {{"input, input_layer",
        "the shape of an example is model.input_shape, and the layers begin with what computes on it; leave it out"},
       {"string_lookup, integer_lookup, category_encoding",
        "words become numbers where the table is read: encoding: {COLUMN: index} or one_hot of its source; leave it "
        "out"},
       {"hashing, hashed_crossing",
        "words become numbers where the table is read: encoding: {COLUMN: {hashing: {num_bins: 100}}} or crosses of "
        "its source, and whole numbers by hashing in data.preprocessing; leave it out"},
       {"text_vectorization",
        "texts become numbers where they are read: format text, or as: text among the inputs of a csv; leave it out"},
       {"to_tensor", "files of pictures are read as numbers from 0 to 255; list rescaling in data.preprocessing"}});
  /// Keeps its name, to which other layers' `inputs` may refer; without one, its type after kUnreadName.
  static void remember(const Value& item, Layer& layer);
};

extern template const mirrortrain::config::detail::Choice& mirrortrain::config::detail::choice_of<mirrortrain::Layer>();
