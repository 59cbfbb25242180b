#include "keras/reading/named_weights.h"

#include <doctest/doctest.h>

using namespace mirrortrain;

namespace {

StoredTensor numbers(Shape shape) {
  StoredTensor tensor{DType::kFloat32, shape, {}};
  tensor.data.resize(static_cast<std::size_t>(shape.elements()) * 4);
  return tensor;
}

}  // namespace

TEST_CASE("weights of a .weights.h5 get the names of the model's variables, by the layers' names or types") {
  keras::Hdf5Contents file;
  file.datasets["layers/dense/vars/0"] = numbers({2, 3});
  file.datasets["layers/dense/vars/1"] = numbers({3});
  file.datasets["layers/dense_1/vars/0"] = numbers({3, 1});
  file.datasets["layers/sequential/layers/lstm/cell/vars/0"] = numbers({2, 8});
  file.datasets["optimizer/vars/0"] = numbers({});
  file.texts["layers/dense_1/vars"]["name"] = {"head"};
  file.texts["layers/sequential/vars"]["name"] = {"tower"};
  keras::keep_weights_of_layers(file);
  const auto origins = keras::origins_in(file);
  const StoredTensors named = keras::named_weights(
      file, origins,
      {{"dense/kernel", {2, 3}}, {"dense/bias", {3}}, {"head/kernel", {3, 1}}, {"tower_lstm/kernel", {2, 8}}});
  CHECK(named.size() == 4);
  for (const char* const name : {"dense/kernel", "dense/bias", "head/kernel", "tower_lstm/kernel"})
    CHECK(named.contains(name));
  CHECK(named.at("dense/bias").shape == Shape{3});
}

TEST_CASE("layers that the model has not are called as in the file, and paths that are asked for stay") {
  keras::Hdf5Contents file;
  file.datasets["layers/conv2d/vars/0"] = numbers({3, 3, 1, 2});
  file.datasets["layers/conv2d/vars/1"] = numbers({2});
  file.datasets["layers/batch_normalization/vars/0"] = numbers({2});
  file.datasets["layers/dense/vars/0"] = numbers({2, 2});
  const StoredTensors named = keras::named_weights(file, keras::origins_in(file), {}, {"layers/dense/vars/0"});
  CHECK(named.contains("conv2d/kernel"));
  CHECK(named.contains("conv2d/bias"));
  CHECK(named.contains("layers/batch_normalization/vars/0"));  // gamma or beta
  CHECK(named.contains("layers/dense/vars/0"));
}
