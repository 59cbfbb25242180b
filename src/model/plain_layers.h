#pragma once

#include <string_view>

#include "config/one_of.h"
#include "model/layers/activation.h"
#include "model/layers/attention.h"
#include "model/layers/batch_normalization.h"
#include "model/layers/bidirectional.h"
#include "model/layers/conv.h"
#include "model/layers/conv_lstm.h"
#include "model/layers/dense.h"
#include "model/layers/dot.h"
#include "model/layers/dropout.h"
#include "model/layers/einsum_dense.h"
#include "model/layers/embedding.h"
#include "model/layers/expression.h"
#include "model/layers/head_attention.h"
#include "model/layers/merge.h"
#include "model/layers/normalization.h"
#include "model/layers/pooling.h"
#include "model/layers/prelu.h"
#include "model/layers/recurrent.h"
#include "model/layers/reshape.h"
#include "model/layers/reuse.h"
#include "model/layers/sequence.h"
#include "model/layers/spatial_size.h"
#include "model/layers/spectrogram.h"

namespace mirrortrain {

/// The list of layers but for those that wrap any other layer. To add one: a file in model/layers and a line here.
struct PlainLayers
    : config::Types<
          layers::Dense, layers::EinsumDense, layers::Conv<1>, layers::Conv<2>, layers::Conv<3>,
          layers::ConvTranspose<1>, layers::ConvTranspose<2>, layers::ConvTranspose<3>, layers::DepthwiseConv<1>,
          layers::DepthwiseConv<2>, layers::SeparableConv<1>, layers::SeparableConv<2>, layers::Embedding,
          layers::ReversibleEmbedding, layers::PositionEmbedding, layers::ClassToken, layers::MultiHeadAttention,
          layers::GroupQueryAttention, layers::Attention, layers::AdditiveAttention, layers::SimpleRnn, layers::Lstm,
          layers::Gru, layers::Bidirectional, layers::ConvLstm<1>, layers::ConvLstm<2>, layers::ConvLstm<3>,
          layers::MaxPooling<1>, layers::MaxPooling<2>, layers::MaxPooling<3>, layers::AveragePooling<1>,
          layers::AveragePooling<2>, layers::AveragePooling<3>, layers::AdaptiveMaxPooling<1>,
          layers::AdaptiveMaxPooling<2>, layers::AdaptiveMaxPooling<3>, layers::AdaptiveAveragePooling<1>,
          layers::AdaptiveAveragePooling<2>, layers::AdaptiveAveragePooling<3>, layers::GlobalMaxPooling<1>,
          layers::GlobalMaxPooling<2>, layers::GlobalMaxPooling<3>, layers::GlobalAveragePooling<1>,
          layers::GlobalAveragePooling<2>, layers::GlobalAveragePooling<3>, layers::ZeroPadding<1>,
          layers::ZeroPadding<2>, layers::ZeroPadding<3>, layers::Cropping<1>, layers::Cropping<2>, layers::Cropping<3>,
          layers::Upsampling<1>, layers::Upsampling2d, layers::Upsampling<3>, layers::Flatten, layers::Reshape,
          layers::RepeatVector, layers::Permute, layers::Flip, layers::MaskByValue, layers::Activation, layers::Softmax,
          layers::Relu, layers::LeakyRelu, layers::Elu, layers::Prelu, layers::Identity, layers::ActivityRegularization,
          layers::Dropout, layers::SpatialDropout<1>, layers::SpatialDropout<2>, layers::SpatialDropout<3>,
          layers::GaussianDropout, layers::GaussianNoise, layers::AlphaDropout, layers::BatchNormalization,
          layers::LayerNormalization, layers::GroupNormalization, layers::RmsNormalization, layers::UnitNormalization,
          layers::Add, layers::Subtract, layers::Multiply, layers::Average, layers::Maximum, layers::Minimum,
          layers::Concatenate, layers::Dot, layers::StftSpectrogram, layers::MelSpectrogram, layers::Reuse,
          layers::Expression> {};
struct PlainLayer : config::OneOf<PlainLayers> {
  using OneOf::OneOf;
};

}  // namespace mirrortrain

extern template class mirrortrain::config::OneOf<mirrortrain::PlainLayers>;

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::PlainLayer> {
  static constexpr std::string_view noun = "a layer";
  static constexpr auto advice = std::to_array<Advice>(
      {{"time_distributed, spectral_normalization", "expected a layer that wraps no other; place it in model.layers"}});
};

extern template const mirrortrain::config::detail::Choice&
mirrortrain::config::detail::choice_of<mirrortrain::PlainLayer>();
