#include "onnx/onnx_weights.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "error_text.h"
#include "onnx/third_party/onnx.pb.h"
#include "temporary_folder.h"

namespace mirrortrain::onnx {
namespace {

::onnx::TensorProto& add(::onnx::ModelProto& model, const std::string& name, int type,
                         const std::vector<std::int64_t>& dims) {
  ::onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t dim : dims) tensor.add_dims(dim);
  return tensor;
}

StoredTensors read(const TemporaryFolder& folder, const ::onnx::ModelProto& model) {
  write_file(folder / "model.onnx", model.SerializeAsString());
  return read_onnx_weights(folder / "model.onnx");
}

std::vector<float> floats_of(const StoredTensor& tensor) {
  const auto elements = tensor.span<float>();
  return {elements.begin(), elements.end()};
}

}  // namespace

TEST_CASE("initializers are read as raw bytes, as lists of numbers and from files beside") {
  const TemporaryFolder folder;
  ::onnx::ModelProto model;
  const float raw[] = {1.5f, -2, 3};
  add(model, "raw", ::onnx::TensorProto::FLOAT, {3, 1}).set_raw_data(raw, sizeof raw);
  ::onnx::TensorProto& listed = add(model, "listed", ::onnx::TensorProto::FLOAT, {2});
  listed.add_float_data(0.25f);
  listed.add_float_data(4);
  ::onnx::TensorProto& half = add(model, "half", ::onnx::TensorProto::FLOAT16, {2});
  half.add_int32_data(0x3c00);
  half.add_int32_data(0xc000);
  add(model, "whole", ::onnx::TensorProto::INT64, {1}).add_int64_data(-7);
  add(model, "words", ::onnx::TensorProto::STRING, {1}).add_string_data("left out");
  ::onnx::TensorProto& outside = add(model, "outside", ::onnx::TensorProto::FLOAT, {2});
  outside.set_data_location(::onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair{"location", "more.bin"}, {"offset", "4"}, {"length", "8"}}) {
    auto& entry = *outside.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  write_file(folder / "more.bin", {reinterpret_cast<const char*>(raw), sizeof raw});
  const StoredTensors read_back = read(folder, model);
  CHECK(read_back.size() == 5);
  CHECK(read_back.at("raw").shape == Shape{3, 1});
  CHECK(floats_of(read_back.at("raw")) == std::vector<float>{1.5f, -2, 3});
  CHECK(floats_of(read_back.at("listed")) == std::vector<float>{0.25f, 4});
  CHECK(floats_of(read_back.at("half")) == std::vector<float>{1, -2});
  CHECK(read_back.at("whole").span<std::int64_t>()[0] == -7);
  CHECK(floats_of(read_back.at("outside")) == std::vector<float>{-2, 3});
}

TEST_CASE("damaged files are refused, with the file and the initializer") {
  const TemporaryFolder folder;
  const auto refused = [&](const ::onnx::ModelProto& model, const std::string& text) {
    const std::string error = error_text([&] { read(folder, model); });
    CHECK_MESSAGE(error.find("model.onnx: the initializer 'w' " + text) != std::string::npos, error);
  };
  ::onnx::ModelProto model;
  add(model, "w", ::onnx::TensorProto::FLOAT, {3}).set_raw_data("12345678");
  refused(model, "has the shape [3], so 12 bytes, found 8");
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, -1);
  refused(model, "has an impossible shape, [-1]");
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, 1LL << 62);
  refused(model, "has an impossible shape");
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, 2);
  *model.mutable_graph()->add_initializer() = model.graph().initializer(0);
  refused(model, "is listed twice");

  ::onnx::ModelProto outside;
  ::onnx::TensorProto& tensor = add(outside, "w", ::onnx::TensorProto::FLOAT, {2});
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  tensor.add_external_data()->set_key("location");
  for (const char* const name : {"../secret", "/etc/passwd", "..", ""}) {
    tensor.mutable_external_data(0)->set_value(name);
    refused(outside, "is in another file, '");
  }
  write_file(folder / "short.bin", "1234");
  tensor.mutable_external_data(0)->set_value("short.bin");
  refused(outside, "is beyond the end of short.bin");

  write_file(folder / "text.onnx", "no model");
  CHECK(error_text([&] { read_onnx_weights(folder / "text.onnx"); }).find("expected an ONNX file") !=
        std::string::npos);
}

}  // namespace mirrortrain::onnx
