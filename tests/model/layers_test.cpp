// One row for each layer and what its options change; shapes and parameters are those of Keras
// (tools/reference/layer_table.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sstream>

#include "model/from_text.h"

using namespace mirrortrain;

namespace {

struct Row {
  std::string input_shape, layer;
  Shape output;
  std::vector<std::pair<std::string, Shape>> variables;
};

const std::vector<Row> kRows = {
    {"[7]", "dense: {units: 5}", {5}, {{"dense/kernel", {7, 5}}, {"dense/bias", {5}}}},
    {"[7]", "dense: {units: 5, use_bias: false}", {5}, {{"dense/kernel", {7, 5}}}},
    {"[4, 7]", "dense: {units: 5, activation: softmax}", {4, 5}, {{"dense/kernel", {7, 5}}, {"dense/bias", {5}}}},
    {"[28, 28, 3]",
     "conv2d: {filters: 8, kernel_size: 3}",
     {26, 26, 8},
     {{"conv2d/kernel", {3, 3, 3, 8}}, {"conv2d/bias", {8}}}},
    {"[28, 28, 3]",
     "conv2d: {filters: 8, kernel_size: [3, 5], padding: same, use_bias: false}",
     {28, 28, 8},
     {{"conv2d/kernel", {3, 5, 3, 8}}}},
    {"[28, 27, 4]",
     "conv2d: {filters: 6, kernel_size: [2, 3], strides: [2, 3], groups: 2}",
     {14, 9, 6},
     {{"conv2d/kernel", {2, 3, 2, 6}}, {"conv2d/bias", {6}}}},
    {"[28, 27, 4]",
     "conv2d: {filters: 6, kernel_size: 3, strides: 2, padding: same}",
     {14, 14, 6},
     {{"conv2d/kernel", {3, 3, 4, 6}}, {"conv2d/bias", {6}}}},
    {"[11, 9, 2]",
     "conv2d: {filters: 3, kernel_size: 3, dilation_rate: [2, 3]}",
     {7, 3, 3},
     {{"conv2d/kernel", {3, 3, 2, 3}}, {"conv2d/bias", {3}}}},
    {"[11, 9, 2]",
     "conv2d: {filters: 3, kernel_size: 3, dilation_rate: 2, padding: same}",
     {11, 9, 3},
     {{"conv2d/kernel", {3, 3, 2, 3}}, {"conv2d/bias", {3}}}},
    {"[9, 8, 3]", "max_pooling2d", {4, 4, 3}, {}},
    {"[9, 8, 3]", "max_pooling2d: {pool_size: 3, strides: 2, padding: same}", {5, 4, 3}, {}},
    {"[9, 8, 3]", "average_pooling2d: {pool_size: [2, 3]}", {4, 2, 3}, {}},
    {"[9, 8, 3]", "average_pooling2d: {pool_size: 2, strides: 1, padding: same}", {9, 8, 3}, {}},
    {"[9, 8, 3]", "global_average_pooling2d", {3}, {}},
    {"[9, 8, 3]", "flatten", {216}, {}},
    {"[9, 8, 3]", "reshape: {target_shape: [6, -1, 2]}", {6, 18, 2}, {}},
    {"[9, 8, 3]", "activation: {activation: gelu}", {9, 8, 3}, {}},
    {"[9, 8, 3]", "softmax", {9, 8, 3}, {}},
    {"[9, 8, 3]", "dropout: {rate: 0.5}", {9, 8, 3}, {}},
    {"[9, 8, 3]",
     "batch_normalization: {}",
     {9, 8, 3},
     {{"batch_normalization/gamma", {3}},
      {"batch_normalization/beta", {3}},
      {"batch_normalization/moving_mean", {3}},
      {"batch_normalization/moving_variance", {3}}}},
    {"[9, 8, 3]",
     "batch_normalization: {center: false}",
     {9, 8, 3},
     {{"batch_normalization/gamma", {3}},
      {"batch_normalization/moving_mean", {3}},
      {"batch_normalization/moving_variance", {3}}}},
    {"[5]",
     "batch_normalization: {scale: false}",
     {5},
     {{"batch_normalization/beta", {5}},
      {"batch_normalization/moving_mean", {5}},
      {"batch_normalization/moving_variance", {5}}}},
    {"[9, 8, 3]", "add: {inputs: [input, input]}", {9, 8, 3}, {}},
    {"[9, 8, 3]", "subtract: {inputs: [input, input]}", {9, 8, 3}, {}},
    {"[9, 8, 3]", "multiply: {inputs: [input, input, input]}", {9, 8, 3}, {}},
    {"[9, 8, 3]", "average: {inputs: [input, input]}", {9, 8, 3}, {}},
    {"[9, 8, 3]", "maximum: {inputs: [input, input]}", {9, 8, 3}, {}},
    {"[9, 8, 3]", "concatenate: {inputs: [input, input]}", {9, 8, 6}, {}},
    {"[9, 8, 3]", "concatenate: {inputs: [input, input], axis: 1}", {18, 8, 3}, {}},
    {"[10, 9, 4]",
     "depthwise_conv2d: {kernel_size: 3}",
     {8, 7, 4},
     {{"depthwise_conv2d/kernel", {3, 3, 4, 1}}, {"depthwise_conv2d/bias", {4}}}},
    {"[10, 9, 4]",
     "depthwise_conv2d: {kernel_size: [2, 3], strides: 2, padding: same, depth_multiplier: 3, use_bias: false}",
     {5, 5, 12},
     {{"depthwise_conv2d/kernel", {2, 3, 4, 3}}}},
    {"[10, 9, 4]",
     "depthwise_conv2d: {kernel_size: 3, dilation_rate: 2}",
     {6, 5, 4},
     {{"depthwise_conv2d/kernel", {3, 3, 4, 1}}, {"depthwise_conv2d/bias", {4}}}},
    {"[10, 9, 4]",
     "separable_conv2d: {filters: 7, kernel_size: 3}",
     {8, 7, 7},
     {{"separable_conv2d/depthwise_kernel", {3, 3, 4, 1}},
      {"separable_conv2d/pointwise_kernel", {1, 1, 4, 7}},
      {"separable_conv2d/bias", {7}}}},
    {"[10, 9, 4]",
     "separable_conv2d: {filters: 7, kernel_size: 4, strides: 2, padding: same, depth_multiplier: 2, use_bias: false}",
     {5, 5, 7},
     {{"separable_conv2d/depthwise_kernel", {4, 4, 4, 2}}, {"separable_conv2d/pointwise_kernel", {1, 1, 8, 7}}}},
    {"[5, 6, 4]",
     "conv2d_transpose: {filters: 7, kernel_size: 3}",
     {7, 8, 7},
     {{"conv2d_transpose/kernel", {3, 3, 7, 4}}, {"conv2d_transpose/bias", {7}}}},
    {"[5, 6, 4]",
     "conv2d_transpose: {filters: 7, kernel_size: 3, strides: 2, padding: same}",
     {10, 12, 7},
     {{"conv2d_transpose/kernel", {3, 3, 7, 4}}, {"conv2d_transpose/bias", {7}}}},
    {"[5, 6, 4]",
     "conv2d_transpose: {filters: 7, kernel_size: [2, 4], strides: [3, 2], use_bias: false}",
     {15, 14, 7},
     {{"conv2d_transpose/kernel", {2, 4, 7, 4}}}},
    {"[5, 6, 4]",
     "conv2d_transpose: {filters: 7, kernel_size: 3, dilation_rate: 2}",
     {9, 10, 7},
     {{"conv2d_transpose/kernel", {3, 3, 7, 4}}, {"conv2d_transpose/bias", {7}}}},
    {"[10, 4]", "conv1d: {filters: 6, kernel_size: 3}", {8, 6}, {{"conv1d/kernel", {3, 4, 6}}, {"conv1d/bias", {6}}}},
    {"[10, 4]",
     "conv1d: {filters: 6, kernel_size: 4, strides: 2, padding: same, groups: 2, use_bias: false}",
     {5, 6},
     {{"conv1d/kernel", {4, 2, 6}}}},
    {"[10, 4]",
     "conv1d: {filters: 6, kernel_size: 3, dilation_rate: 3}",
     {4, 6},
     {{"conv1d/kernel", {3, 4, 6}}, {"conv1d/bias", {6}}}},
    {"[10]", "embedding: {input_dim: 50, output_dim: 8}", {10, 8}, {{"embedding/embeddings", {50, 8}}}},
    {"[3, 4]", "embedding: {input_dim: 50, output_dim: 8}", {3, 4, 8}, {{"embedding/embeddings", {50, 8}}}},
    {"[9, 8, 3]", "global_max_pooling2d", {3}, {}},
    {"[9, 8, 3]", "global_max_pooling2d: {keepdims: true}", {1, 1, 3}, {}},
    {"[9, 8, 3]", "global_average_pooling2d: {keepdims: true}", {1, 1, 3}, {}},
    {"[9, 8]", "global_average_pooling1d", {8}, {}},
    {"[9, 8]", "global_average_pooling1d: {keepdims: true}", {1, 8}, {}},
    {"[9, 8, 3]", "zero_padding2d", {11, 10, 3}, {}},
    {"[9, 8, 3]", "zero_padding2d: {padding: [1, 2]}", {11, 12, 3}, {}},
    {"[9, 8, 3]", "zero_padding2d: {padding: [[1, 2], [3, 4]]}", {12, 15, 3}, {}},
    {"[9, 8, 3]", "upsampling2d", {18, 16, 3}, {}},
    {"[9, 8, 3]", "upsampling2d: {size: [3, 1], interpolation: bilinear}", {27, 8, 3}, {}},
    {"[9, 8, 3]", "permute: {dims: [3, 1, 2]}", {3, 9, 8}, {}},
    {"[9, 8, 3]", "flip", {9, 8, 3}, {}},
    {"[9, 6]", "flip: {axis: -1}", {9, 6}, {}},
    {"[9, 8, 3]", "prelu", {9, 8, 3}, {{"prelu/alpha", {9, 8, 3}}}},
    {"[9, 8, 3]", "prelu: {shared_axes: [1, 2]}", {9, 8, 3}, {{"prelu/alpha", {1, 1, 3}}}},
    {"[9, 8, 3]",
     "layer_normalization",
     {9, 8, 3},
     {{"layer_normalization/gamma", {3}}, {"layer_normalization/beta", {3}}}},
    {"[9, 8, 3]", "layer_normalization: {center: false}", {9, 8, 3}, {{"layer_normalization/gamma", {3}}}},
    {"[9, 8, 64]",
     "group_normalization",
     {9, 8, 64},
     {{"group_normalization/gamma", {64}}, {"group_normalization/beta", {64}}}},
    {"[9, 6]",
     "multi_head_attention: {num_heads: 3, key_dim: 4, value_dim: 5, use_causal_mask: true}",
     {9, 6},
     {{"multi_head_attention/query/kernel", {6, 3, 4}},
      {"multi_head_attention/query/bias", {3, 4}},
      {"multi_head_attention/key/kernel", {6, 3, 4}},
      {"multi_head_attention/key/bias", {3, 4}},
      {"multi_head_attention/value/kernel", {6, 3, 5}},
      {"multi_head_attention/value/bias", {3, 5}},
      {"multi_head_attention/attention_output/kernel", {3, 5, 6}},
      {"multi_head_attention/attention_output/bias", {6}}}},
    {"[9, 8, 6]",
     "multi_head_attention: {num_heads: 3, key_dim: 4, attention_axes: -2, output_shape: [2, 7]}",
     {9, 8, 2, 7},
     {{"multi_head_attention/query/kernel", {6, 3, 4}},
      {"multi_head_attention/query/bias", {3, 4}},
      {"multi_head_attention/key/kernel", {6, 3, 4}},
      {"multi_head_attention/key/bias", {3, 4}},
      {"multi_head_attention/value/kernel", {6, 3, 4}},
      {"multi_head_attention/value/bias", {3, 4}},
      {"multi_head_attention/attention_output/kernel", {3, 4, 2, 7}},
      {"multi_head_attention/attention_output/bias", {2, 7}}}},
    {"[9, 6]",
     "multi_head_attention: {num_heads: 2, key_dim: 4, use_bias: false}",
     {9, 6},
     {{"multi_head_attention/query/kernel", {6, 2, 4}},
      {"multi_head_attention/key/kernel", {6, 2, 4}},
      {"multi_head_attention/value/kernel", {6, 2, 4}},
      {"multi_head_attention/attention_output/kernel", {2, 4, 6}}}},
    {"[9, 6]",
     "lstm: {units: 5}",
     {5},
     {{"lstm/kernel", {6, 20}}, {"lstm/recurrent_kernel", {5, 20}}, {"lstm/bias", {20}}}},
    {"[9, 6]",
     "lstm: {units: 5, return_sequences: true, use_bias: false}",
     {9, 5},
     {{"lstm/kernel", {6, 20}}, {"lstm/recurrent_kernel", {5, 20}}}},
    {"[9, 6]",
     "gru: {units: 5, return_sequences: true}",
     {9, 5},
     {{"gru/kernel", {6, 15}}, {"gru/recurrent_kernel", {5, 15}}, {"gru/bias", {2, 15}}}},
    {"[9, 6]",
     "gru: {units: 5, reset_after: false, go_backwards: true}",
     {5},
     {{"gru/kernel", {6, 15}}, {"gru/recurrent_kernel", {5, 15}}, {"gru/bias", {15}}}},
    {"[9, 6]", "position_embedding: {sequence_length: 9}", {9, 6}, {{"position_embedding/embeddings", {9, 6}}}},
    {"[9, 6]", "position_embedding: {sequence_length: 12}", {9, 6}, {{"position_embedding/embeddings", {12, 6}}}},
    {"[9, 6]", "class_token", {10, 6}, {{"class_token/token", {1, 6}}}},
    {"[9, 6]", "cropping1d", {7, 6}, {}},
    {"[9, 6]", "cropping1d: {cropping: 3}", {3, 6}, {}},
    {"[9, 6]", "cropping1d: {cropping: [0, 8]}", {1, 6}, {}},
    {"[9, 8, 6]", "group_normalization: {groups: 3, scale: false}", {9, 8, 6}, {{"group_normalization/beta", {6}}}},
    {"[9, 8, 6]",
     "group_normalization: {groups: -1}",
     {9, 8, 6},
     {{"group_normalization/gamma", {6}}, {"group_normalization/beta", {6}}}},
    {"[9, 6]",
     "simple_rnn: {units: 5}",
     {5},
     {{"simple_rnn/kernel", {6, 5}}, {"simple_rnn/recurrent_kernel", {5, 5}}, {"simple_rnn/bias", {5}}}},
    {"[9, 6]",
     "simple_rnn: {units: 5, return_sequences: true, use_bias: false}",
     {9, 5},
     {{"simple_rnn/kernel", {6, 5}}, {"simple_rnn/recurrent_kernel", {5, 5}}}},
    {"[9, 6]",
     "bidirectional: {layer: {lstm: {units: 5}}}",
     {10},
     {{"bidirectional/forward/kernel", {6, 20}},
      {"bidirectional/forward/recurrent_kernel", {5, 20}},
      {"bidirectional/forward/bias", {20}},
      {"bidirectional/backward/kernel", {6, 20}},
      {"bidirectional/backward/recurrent_kernel", {5, 20}},
      {"bidirectional/backward/bias", {20}}}},
    {"[9, 6]",
     "bidirectional: {layer: {gru: {units: 5, return_sequences: true}}, merge_mode: sum}",
     {9, 5},
     {{"bidirectional/forward/kernel", {6, 15}},
      {"bidirectional/forward/recurrent_kernel", {5, 15}},
      {"bidirectional/forward/bias", {2, 15}},
      {"bidirectional/backward/kernel", {6, 15}},
      {"bidirectional/backward/recurrent_kernel", {5, 15}},
      {"bidirectional/backward/bias", {2, 15}}}},
    {"[3, 9, 8, 2]",
     "conv_lstm2d: {filters: 4, kernel_size: 3}",
     {7, 6, 4},
     {{"conv_lstm2d/kernel", {3, 3, 2, 16}},
      {"conv_lstm2d/recurrent_kernel", {3, 3, 4, 16}},
      {"conv_lstm2d/bias", {16}}}},
    {"[3, 9, 2]",
     "conv_lstm1d: {filters: 4, kernel_size: 3, strides: 2, padding: same, return_sequences: true, use_bias: false}",
     {3, 5, 4},
     {{"conv_lstm1d/kernel", {3, 2, 16}}, {"conv_lstm1d/recurrent_kernel", {3, 4, 16}}}},
    {"[3, 9, 8, 7, 2]",
     "conv_lstm3d: {filters: 4, kernel_size: [1, 2, 3]}",
     {9, 7, 5, 4},
     {{"conv_lstm3d/kernel", {1, 2, 3, 2, 16}},
      {"conv_lstm3d/recurrent_kernel", {1, 2, 3, 4, 16}},
      {"conv_lstm3d/bias", {16}}}},
    {"[3, 9, 8, 2]",
     "time_distributed: {layer: {conv2d: {filters: 4, kernel_size: 3}}}",
     {3, 7, 6, 4},
     {{"time_distributed/kernel", {3, 3, 2, 4}}, {"time_distributed/bias", {4}}}},
    {"[9, 8, 2]",
     "spectral_normalization: {layer: {conv2d: {filters: 4, kernel_size: 3}}}",
     {7, 6, 4},
     {{"spectral_normalization/kernel", {3, 3, 2, 4}},
      {"spectral_normalization/bias", {4}},
      {"spectral_normalization/vector_u", {1, 4}}}},
    {"[300, 2]",
     "stft_spectrogram: {frame_length: 100}",
     {5, 130},
     {{"stft_spectrogram/real_kernel", {100, 1, 65}}, {"stft_spectrogram/imag_kernel", {100, 1, 65}}}},
    {"[300, 2]",
     "stft_spectrogram: {mode: angle, frame_length: 100, frame_step: 7, padding: same, expand_dims: true}",
     {43, 65, 2},
     {{"stft_spectrogram/real_kernel", {100, 1, 65}}, {"stft_spectrogram/imag_kernel", {100, 1, 65}}}},
    {"[3000]", "mel_spectrogram", {128, 6}, {}},
    {"[3000]", "mel_spectrogram: {fft_length: 100, sequence_stride: 30, num_mel_bins: 7}", {7, 101}, {}},
    {"[9]",
     "reversible_embedding: {input_dim: 20, output_dim: 3}",
     {9, 3},
     {{"reversible_embedding/embeddings", {20, 3}}}},
    {"[10, 4]",
     "conv1d: {filters: 6, kernel_size: 3, padding: causal, dilation_rate: 2}",
     {10, 6},
     {{"conv1d/kernel", {3, 4, 6}}, {"conv1d/bias", {6}}}},
    {"[10, 4]",
     "conv1d_transpose: {filters: 6, kernel_size: 3, strides: 2, padding: same}",
     {20, 6},
     {{"conv1d_transpose/kernel", {3, 6, 4}}, {"conv1d_transpose/bias", {6}}}},
    {"[10, 4]",
     "depthwise_conv1d: {kernel_size: 3, depth_multiplier: 2}",
     {8, 8},
     {{"depthwise_conv1d/kernel", {3, 4, 2}}, {"depthwise_conv1d/bias", {8}}}},
    {"[10, 4]",
     "separable_conv1d: {filters: 6, kernel_size: 3, strides: 2}",
     {4, 6},
     {{"separable_conv1d/depthwise_kernel", {3, 4, 1}},
      {"separable_conv1d/pointwise_kernel", {1, 4, 6}},
      {"separable_conv1d/bias", {6}}}},
    {"[7, 9, 8, 4]",
     "conv3d: {filters: 6, kernel_size: 3}",
     {5, 7, 6, 6},
     {{"conv3d/kernel", {3, 3, 3, 4, 6}}, {"conv3d/bias", {6}}}},
    {"[7, 9, 8, 4]",
     "conv3d: {filters: 6, kernel_size: [1, 2, 3], strides: 2, padding: same, groups: 2, use_bias: false}",
     {4, 5, 4, 6},
     {{"conv3d/kernel", {1, 2, 3, 2, 6}}}},
    {"[3, 4, 5, 2]",
     "conv3d_transpose: {filters: 6, kernel_size: [3, 2, 2], strides: [2, 1, 3]}",
     {7, 5, 15, 6},
     {{"conv3d_transpose/kernel", {3, 2, 2, 6, 2}}, {"conv3d_transpose/bias", {6}}}},
    {"[9, 8]", "max_pooling1d", {4, 8}, {}},
    {"[9, 8]", "average_pooling1d: {pool_size: 3, strides: 2, padding: same}", {5, 8}, {}},
    {"[7, 9, 8, 3]", "max_pooling3d", {3, 4, 4, 3}, {}},
    {"[7, 9, 8, 3]", "average_pooling3d: {pool_size: [1, 2, 3], strides: 1}", {7, 8, 6, 3}, {}},
    {"[9, 8]", "adaptive_max_pooling1d: {output_size: 4}", {4, 8}, {}},
    {"[9, 8, 3]", "adaptive_average_pooling2d: {output_size: [2, 3]}", {2, 3, 3}, {}},
    {"[7, 9, 8, 3]", "adaptive_average_pooling3d: {output_size: 2}", {2, 2, 2, 3}, {}},
    {"[9, 8]", "global_max_pooling1d", {8}, {}},
    {"[7, 9, 8, 3]", "global_max_pooling3d: {keepdims: true}", {1, 1, 1, 3}, {}},
    {"[7, 9, 8, 3]", "global_average_pooling3d", {3}, {}},
    {"[9, 8]", "zero_padding1d: {padding: [1, 2]}", {12, 8}, {}},
    {"[7, 9, 8, 3]", "zero_padding3d", {9, 11, 10, 3}, {}},
    {"[9, 8, 3]", "cropping2d: {cropping: [[1, 2], [3, 0]]}", {6, 5, 3}, {}},
    {"[7, 9, 8, 3]", "cropping3d", {5, 7, 6, 3}, {}},
    {"[9, 6]", "upsampling1d", {18, 6}, {}},
    {"[7, 9, 8, 3]", "upsampling3d: {size: [1, 2, 3]}", {7, 18, 24, 3}, {}},
    {"[6]", "repeat_vector: {n: 4}", {4, 6}, {}},
    {"[9, 6]", "masking", {9, 6}, {}},
    {"[9, 8, 3]", "rms_normalization", {9, 8, 3}, {{"rms_normalization/scale", {3}}}},
    {"[9, 8, 3]",
     "layer_normalization: {axis: [1, 2]}",
     {9, 8, 3},
     {{"layer_normalization/gamma", {9, 8}}, {"layer_normalization/beta", {9, 8}}}},
    {"[9, 8, 3]", "unit_normalization", {9, 8, 3}, {}},
    {"[9, 8, 3]", "spatial_dropout2d: {rate: 0.5}", {9, 8, 3}, {}},
    {"[9, 8, 3]", "gaussian_noise: {stddev: 0.5}", {9, 8, 3}, {}},
    {"[9, 8, 3]", "relu", {9, 8, 3}, {}},
};

/// The numbers in "[6, 4, 3]".
std::vector<std::int64_t> dims_of(const std::string& text) {
  std::vector<std::int64_t> dims;
  std::istringstream numbers(text.substr(1));
  for (std::int64_t extent = 0; numbers >> extent; numbers.ignore()) dims.push_back(extent);
  return dims;
}

}  // namespace

TEST_CASE("layers have the shapes, variables and parameters of Keras") {
  for (const Row& row : kRows) {
    CAPTURE(row.layer);
    const Built built = build_layers(row.input_shape, "    - " + row.layer + "\n");
    REQUIRE(built.errors == "");
    const Model& model = built.model;
    REQUIRE(model.layers.size() == 1);
    CHECK(model.layers[0].output_shape == row.output);
    CHECK(model.evaluation.graph.spec(model.evaluation.outputs[0].value).shape == row.output);
    REQUIRE(model.variables.size() == row.variables.size());
    std::int64_t parameters = 0;
    for (std::size_t i = 0; i < row.variables.size(); ++i) {
      CHECK(model.variables[i].spec.name == row.variables[i].first);
      CHECK(model.variables[i].spec.shape == row.variables[i].second);
      parameters += row.variables[i].second.elements();
    }
    CHECK(model.layers[0].parameters == parameters);
  }
}

TEST_CASE("a dense layer tied to an embedding has its table, and a bias of its own") {
  const std::string layers =
      "    - embedding: {input_dim: 11, output_dim: 4, name: tokens}\n"
      "    - dense: {units: 4, activation: tanh}\n    - dense: ";
  const Built built = build_layers("[5]", layers + "{units: 11, tied_to: tokens}\n");
  REQUIRE(built.errors == "");
  CHECK(variable_names(built.model) ==
        std::vector<std::string>{"tokens/embeddings", "dense/kernel", "dense/bias", "dense_1/bias"});
  CHECK(built.model.layers[2].parameters == 11);
  CHECK(built.model.layers[2].output_shape == Shape{5, 11});
  const auto error = [&](const std::string& options) { return build_layers("[5]", layers + options + "\n").errors; };
  const auto contains = [](const std::string& text, const std::string& part) { return text.find(part) != text.npos; };
  CHECK(contains(error("{units: 11, tied_to: token}"),
                 "a.yaml:6:7: model.layers[2].dense: expected an earlier layer with embeddings, found 'token'; choose "
                 "'tokens'"));
  CHECK(contains(error("{units: 10, tied_to: tokens}"),
                 "10 units of the input shape [5, 4] of 'dense' need a table [10, 4], found [11, 4] of 'tokens'"));
  CHECK(contains(error("{units: 11, tied_to: tokens, kernel_regularizer: {l2: 1}}"),
                 "kernel_regularizer: the kernel is the table that tied_to names"));
  CHECK(contains(error("{units: 11, tied_to: tokens, use_bias: false, trainable: false}"),
                 "trainable: the kernel is the table that tied_to names"));
  CHECK(contains(error("{units: 11, tied_to: tokens, kernel_initializer: zeros}"),
                 "kernel_initializer: the kernel is the table that tied_to names"));
}

TEST_CASE("an axis that an example does not have cannot be flipped") {
  for (const char* axis : {"0", "3", "-3"}) {
    const std::string error = build_layers("[9, 6]", fmt::format("    - flip: {{axis: {}}}\n", axis)).errors;
    CHECK(error.find(fmt::format("axis {} cannot be flipped: expected 1 to 2, or -2 to -1, for the shape [9, 6]",
                                 axis)) != std::string::npos);
  }
}

TEST_CASE("a sequence cannot lose all its steps") {
  const std::string error = build_layers("[9, 6]", "    - cropping1d: {cropping: [4, 5]}\n").errors;
  CHECK(error.find(
            "expected a sequence of more than the 4 + 5 steps that are removed, found [9, 6] of the model's input") !=
        std::string::npos);
}

TEST_CASE("unnamed layers are numbered by type as in Keras, named ones are not counted") {
  const Built built = build_layers("[6, 6, 2]",
                                   "    - conv2d: {filters: 2, kernel_size: 3}\n"
                                   "    - conv2d: {filters: 2, kernel_size: 3, name: stem}\n"
                                   "    - conv2d: {filters: 2, kernel_size: 1}\n"
                                   "    - flatten\n"
                                   "    - dense: {units: 2}\n"
                                   "    - dense: {units: 2}\n");
  REQUIRE(built.errors == "");
  std::vector<std::string> names, types;
  for (const LayerSummary& layer : built.model.layers) {
    names.push_back(layer.name);
    types.push_back(layer.type);
  }
  CHECK(names == std::vector<std::string>{"conv2d", "stem", "conv2d_1", "flatten", "dense", "dense_1"});
  CHECK(types == std::vector<std::string>{"conv2d", "conv2d", "conv2d", "flatten", "dense", "dense"});
  CHECK(variable_names(built.model) ==
        std::vector<std::string>{"conv2d/kernel", "conv2d/bias", "stem/kernel", "stem/bias", "conv2d_1/kernel",
                                 "conv2d_1/bias", "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"});
}

TEST_CASE("branches meet where inputs name them") {
  const Built built = build_layers("[4]",
                                   "    - dense: {units: 3, name: left}\n"
                                   "    - dense: {units: 3, name: right, inputs: [input]}\n"
                                   "    - add: {inputs: [left, right]}\n");
  REQUIRE(built.errors == "");
  const Graph& graph = built.model.evaluation.graph;
  CHECK(op_names(graph) == "dense dense add_n loss");
  CHECK(graph.node(0).inputs[0] == built.model.evaluation.inputs[0].value);
  CHECK(graph.node(1).inputs[0] == built.model.evaluation.inputs[0].value);
  CHECK(graph.node(2).inputs == std::vector<ValueId>{graph.node(0).outputs[0], graph.node(1).outputs[0]});
}

TEST_CASE("merging layers stretch axes of 1, and put missing ones in front") {
  struct Pair {
    std::string layer, first, second;
    Shape output;
  };
  for (const Pair& pair :
       {Pair{"multiply", "[6, 4, 3]", "[1, 1, 3]", {6, 4, 3}}, Pair{"multiply", "[6, 4, 18]", "[18]", {6, 4, 18}},
        Pair{"subtract", "[6, 1, 3]", "[1, 4, 3]", {6, 4, 3}}, Pair{"add", "[1, 4, 3]", "[6, 1, 3]", {6, 4, 3}},
        Pair{"maximum", "[6, 4]", "[4]", {6, 4}}}) {
    CAPTURE(pair.layer);
    const auto branch = [](const std::string& shape, const std::string& name) {
      std::int64_t elements = 1;
      for (const std::int64_t extent : dims_of(shape)) elements *= extent;
      return "    - dense: {units: " + std::to_string(elements) +
             ", inputs: [input]}\n    - reshape: {target_shape: " + shape + ", name: " + name + "}\n";
    };
    const Built built = build_layers(
        "[2]", branch(pair.first, "a") + branch(pair.second, "b") + "    - " + pair.layer + ": {inputs: [a, b]}\n");
    REQUIRE(built.errors == "");
    CHECK(built.model.layers.back().output_shape == pair.output);
  }
}

TEST_CASE("every activation becomes its op") {
  for (const auto& [name, activation] : config::EnumNames<ActivationName>::names) {
    CAPTURE(name);
    const Built built = build_layers("[4]", "    - activation: {activation: " + std::string(name) + "}\n");
    REQUIRE(built.errors == "");
    const std::string expected = activation == ActivationName::kLinear    ? "loss"
                                 : activation == ActivationName::kSoftmax ? "softmax loss"
                                                                          : "activation loss";
    if (formula_of(activation)) {
      CHECK(op_names(built.model.evaluation.graph).find("pointwise") != std::string::npos);
      continue;
    }
    CHECK(op_names(built.model.evaluation.graph) == expected);
  }
}
