// Requests and answers of the Open Inference Protocol, as JSON and with binary data.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "serve/tensors/inference.h"

namespace mirrortrain::testing {
namespace {

using Json = nlohmann::json;

/// A request with one input, of which `rest` says type, shape and data.
std::string request_of(const std::string& rest) { return R"({"inputs": [{"name": "x", )" + rest + "}]}"; }

Tensor tensor_in(const std::string& rest) {
  return std::move(read_inference(request_of(rest), std::nullopt).inputs.at(0));
}

std::string refusal_of(const std::string& body, std::optional<std::size_t> json_bytes = std::nullopt) {
  try {
    read_inference(body, json_bytes);
  } catch (const Refused& refused) {
    CHECK(refused.status() == 400);
    return refused.what();
  }
  return "";
}

template <class T>
std::vector<T> numbers_of(const Tensor& tensor) {
  const auto span = tensor.numbers.span<T>();
  return {span.begin(), span.end()};
}

template <class T>
std::string bytes_of_numbers(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

TEST_CASE("data are numbers or texts, in lists however deep") {
  for (const char* data : {"[1, 2.5, -3, 4]", "[[1, 2.5], [-3, 4]]", "[[[1], [2.5]], [[-3], [4]]]"}) {
    const Tensor tensor = tensor_in(fmt::format(R"("datatype": "FP32", "shape": [2, 2], "data": {})", data));
    CHECK(numbers_of<float>(tensor) == std::vector<float>{1, 2.5, -3, 4});
    CHECK(tensor.numbers.shape == Shape{2, 2});
  }
  CHECK(numbers_of<double>(tensor_in(R"("datatype": "FP64", "shape": [1], "data": 0.1)")) == std::vector<double>{0.1});
  CHECK(numbers_of<std::uint8_t>(tensor_in(R"("datatype": "BOOL", "shape": [2], "data": [true, false])")) ==
        std::vector<std::uint8_t>{1, 0});
  CHECK(numbers_of<std::int32_t>(tensor_in(R"("data": [-128, 127], "shape": [2], "datatype": "INT8")")) ==
        std::vector<std::int32_t>{-128, 127});
  CHECK(std::isnan(numbers_of<float>(tensor_in(R"("datatype": "FP32", "shape": [1], "data": [null])"))[0]));
  CHECK(tensor_in(R"("datatype": "BYTES", "shape": [2, 1], "data": [["a\u00e4"], [""]])").texts ==
        std::vector<std::string>{"aä", ""});
}

TEST_CASE("a request says its id, its outputs and whether answers are binary") {
  const std::string body = R"({"id": "7", "parameters": {"binary_data_output": true, "other": 1},
    "inputs": [{"name": "x", "datatype": "INT64", "shape": [1, 1], "data": [5]}],
    "outputs": [{"name": "a"}, {"name": "b", "parameters": {"binary_data": false, "classification": 3}}]})";
  const InferenceRequest request = read_inference(body, std::nullopt);
  CHECK(request.id == "7");
  REQUIRE(request.outputs.size() == 2);
  CHECK(request.outputs[0].is_binary);
  CHECK_FALSE(request.outputs[1].is_binary);
  CHECK(request.outputs[1].classes == 3);
}

TEST_CASE("binary data follow the JSON, in the order of the inputs") {
  const std::string texts("\x02\0\0\0ab\0\0\0\0", 10);
  const std::string numbers = bytes_of_numbers<float>({1.5, -2});
  const std::string halves("\x00\x3c\x00\xc0", 4);  // 1, -2
  std::string body = fmt::format(
      R"({{"inputs": [{{"name": "t", "datatype": "BYTES", "shape": [2], "parameters": {{"binary_data_size": 10}}}},
      {{"name": "i", "datatype": "INT32", "shape": [1], "data": [9]}},
      {{"name": "x", "datatype": "FP32", "shape": [2], "parameters": {{"binary_data_size": 8}}}},
      {{"name": "b", "datatype": "BF16", "shape": [1], "parameters": {{"binary_data_size": 2}}}},
      {{"name": "h", "datatype": "FP16", "shape": [2], "parameters": {{"binary_data_size": 4}}}}]}})");
  const std::size_t json_bytes = body.size();
  body += texts + numbers + std::string("\x80\x3f", 2) + halves;
  const InferenceRequest request = read_inference(body, json_bytes);
  CHECK(request.inputs[0].texts == std::vector<std::string>{"ab", ""});
  CHECK(numbers_of<std::int32_t>(request.inputs[1]) == std::vector<std::int32_t>{9});
  CHECK(numbers_of<float>(request.inputs[2]) == std::vector<float>{1.5, -2});
  CHECK(numbers_of<float>(request.inputs[3]) == std::vector<float>{1});
  CHECK(numbers_of<float>(request.inputs[4]) == std::vector<float>{1, -2});
  CHECK(refusal_of(body + "x", json_bytes) == "1 bytes of binary data are left behind those of the inputs");
  CHECK(refusal_of(body.substr(0, body.size() - 1), json_bytes).find("expected 4 bytes of binary data") == 15 - 4);
}

TEST_CASE("wrong requests are refused with the reason") {
  struct Row {
    std::string body, reason;
  };
  const std::string deep(100000, '[');
  const Row rows[] = {
      {"", "the body is no JSON: it ends at byte 1"},
      {"{", "the body is no JSON: it ends at byte 2, within a value"},
      {"[]", "expected a request as an object of JSON"},
      {"{}", "the request has no 'inputs'"},
      {R"({"inputs": []})", "the request has no 'inputs'"},
      {R"({"inputs": {}})", "expected 'inputs' as a list"},
      {R"({"inputs": [7]})", "expected each of 'inputs' as an object"},
      {R"({"inputs": [{}]})", "an input has no 'name'"},
      {R"({"inputs": [], "inputs": []})", "the request has 'inputs' twice"},
      {R"({"inputs": [{"name": 5}]})", "expected 'name' as a text"},
      {request_of(R"("shape": [1], "data": [1])"), "input 'x' has no 'datatype'"},
      {request_of(R"("datatype": "FP33", "shape": [1], "data": [1])"),
       "unknown datatype 'FP33'; expected one of BOOL, "},
      {request_of(R"("datatype": "FP32", "data": [1])"), "input 'x' has no 'shape'"},
      {request_of(R"("datatype": "FP32", "shape": [1])"), "input 'x' has no 'data'"},
      {request_of(R"("datatype": "FP32", "shape": [], "data": [])"), "expected the number of examples"},
      {request_of(R"("datatype": "FP32", "shape": [0, 4], "data": [])"), "expected at least one example"},
      {request_of(R"("datatype": "FP32", "shape": [1, 0], "data": [])"), "expected examples with at least one element"},
      {request_of(R"("datatype": "FP32", "shape": [-1], "data": [1])"), "expected extents of at least 0"},
      {request_of(R"("datatype": "FP32", "shape": [1.5], "data": [1])"), "expected 'shape' as a list of whole numbers"},
      {request_of(R"("datatype": "FP32", "shape": [4611686018427387904, 4], "data": [1])"), "whole numbers"},
      {request_of(R"("datatype": "FP32", "shape": [4611686018427387, 4611686018427387], "data": [1])"), "too many"},
      {request_of(R"("datatype": "FP32", "shape": [2], "data": [1])"),
       "expected 2 elements, those of the shape [2], found 1"},
      {request_of(R"("datatype": "UINT8", "shape": [1], "data": [256])"),
       "element 0 (counting from 0) is 256, which UINT8"},
      {request_of(R"("datatype": "INT32", "shape": [2], "data": [1, 0.5])"),
       "element 1 (counting from 0) is 0.5, which INT32"},
      {request_of(R"("datatype": "INT32", "shape": [1], "data": [null])"), "is null, which INT32"},
      {request_of(R"("datatype": "FP32", "shape": [1], "data": ["1"])"),
       "expected numbers, as its datatype FP32 says, found texts"},
      {request_of(R"("datatype": "BYTES", "shape": [1], "data": [1])"),
       "expected texts, as its datatype BYTES says, found numbers"},
      {request_of(R"("datatype": "FP32", "shape": [2], "data": [1, "2"])"), "as numbers or as texts, found both"},
      {request_of(R"("datatype": "FP32", "shape": [1], "data": {"a": 1})"), "expected the data of an input as numbers"},
      {request_of(R"("datatype": "FP32", "shape": [1], "data": [1], "data": [1])"), "has 'data' twice"},
      {request_of(R"("datatype": "FP32", "shape": [1], "data": [1e999])"), "the body is no JSON: at byte "},
      {request_of(R"("datatype": "FP32", "shape": [1], "data": )" + deep), "expected JSON of at most 32 levels"},
      {deep, "expected JSON of at most 32 levels"},
      {request_of(R"("datatype": "FP32", "shape": [1], "parameters": {"binary_data_size": 4})"), "found 0"},
      {request_of(R"("datatype": "FP32", "shape": [1], "parameters": {"binary_data_size": -4})"),
       "a whole number from 0"},
      {request_of(R"("datatype": "FP32", "shape": [1], "parameters": 5)"), "expected 'parameters' as an object"},
      {std::string("\xff\xfe", 2), "the body is no JSON: at byte "},
  };
  for (const Row& row : rows) {
    const std::string found = refusal_of(row.body);
    CHECK_MESSAGE(found.find(row.reason) != found.npos, row.body.substr(0, 200), " gave ", found);
  }
  std::string many = "{\"x\": [";
  for (int i = 0; i < 100000; ++i) many += "{},";
  try {
    read_inference(many + "0]}", std::nullopt);
    CHECK(false);
  } catch (const Refused& refused) {
    CHECK(refused.status() == 413);
  }
  CHECK(refusal_of("{}", 3).find("expected 3 bytes of JSON") == 0);
}

TEST_CASE("answers have the shortest text of each number, or its bytes") {
  InferenceResponse response{"a \"model\"", "12", "x", {}};
  response.outputs.push_back({"y", {1, 3}, {0.1f, 1e-30f, std::nanf("")}});
  response.outputs.push_back({"c", {1, 1}, {}, {"0.5:1:yes"}});
  const InferenceBody text = write_inference(response);
  CHECK_FALSE(text.json_bytes);
  const Json json = parse_json<Json>(text.bytes);
  CHECK(json["model_name"] == "a \"model\"");
  CHECK(json["id"] == "x");
  CHECK(json["outputs"][0]["data"][0].get<float>() == 0.1f);
  CHECK(text.bytes.find("[0.1,1e-30,null]") != std::string::npos);
  CHECK(json["outputs"][1]["datatype"] == "BYTES");
  for (OutputTensor& output : response.outputs) output.is_binary = true;
  const InferenceBody binary = write_inference(response);
  REQUIRE(binary.json_bytes);
  const Json head = parse_json<Json>(binary.bytes.substr(0, *binary.json_bytes));
  CHECK(head["outputs"][0]["parameters"]["binary_data_size"] == 12);
  float first = 0;
  std::memcpy(&first, binary.bytes.data() + *binary.json_bytes, sizeof first);
  CHECK(first == 0.1f);
  CHECK(binary.bytes.substr(*binary.json_bytes + 12) == std::string("\x09\0\0\0", 4) + "0.5:1:yes");
}

}  // namespace
}  // namespace mirrortrain::testing
