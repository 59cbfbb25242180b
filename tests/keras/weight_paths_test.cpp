#include "keras/weight_paths.h"

#include <doctest/doctest.h>

using mirrortrain::keras::snake_case;
using mirrortrain::keras::weight_paths;
using mirrortrain::keras::WeightPath;

namespace {

using Paths = std::vector<WeightPath>;

}  // namespace

TEST_CASE("groups of Keras's layers are called after their classes") {
  CHECK(snake_case("Conv2DTranspose") == "conv2d_transpose");
  CHECK(snake_case("PReLU") == "p_re_lu");
  CHECK(snake_case("LSTM") == "lstm");
  CHECK(snake_case("ConvLSTM2D") == "conv_lstm2d");
  CHECK(snake_case("GlobalAveragePooling1D") == "global_average_pooling1d");
  CHECK(snake_case("GroupQueryAttention") == "grouped_query_attention");
}

TEST_CASE("weights are in the order in which Keras makes them") {
  CHECK(weight_paths({"dense"}, {"bias", "kernel"}) == Paths{{"kernel", "vars/0"}, {"bias", "vars/1"}});
  CHECK(weight_paths({"batch_normalization"}, {"moving_variance", "moving_mean", "beta"}) ==
        Paths{{"beta", "vars/0"}, {"moving_mean", "vars/1"}, {"moving_variance", "vars/2"}});
}

TEST_CASE("layers of several objects have groups within") {
  CHECK(weight_paths({"lstm"}, {"kernel", "recurrent_kernel"}) ==
        Paths{{"kernel", "cell/vars/0"}, {"recurrent_kernel", "cell/vars/1"}});
  CHECK(weight_paths({"bidirectional"}, {"backward/kernel", "forward/kernel"}) ==
        Paths{{"forward/kernel", "forward_layer/cell/vars/0"}, {"backward/kernel", "backward_layer/cell/vars/0"}});
  CHECK(weight_paths({"multi_head_attention"}, {"attention_output/kernel", "query/kernel"}) ==
        Paths{{"query/kernel", "query_dense/vars/0"}, {"attention_output/kernel", "output_dense/vars/0"}});
  CHECK(weight_paths({"time_distributed", "dense"}, {"kernel"}) == Paths{{"kernel", "layer/vars/0"}});
  CHECK(weight_paths({"spectral_normalization", "dense"}, {"bias", "kernel", "vector_u"}) ==
        Paths{{"kernel", "layer/vars/0"}, {"bias", "layer/vars/1"}, {"kernel", "vars/0"}, {"vector_u", "vars/1"}});
}
