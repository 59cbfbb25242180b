#include "serve/grpc/grpc_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace mirrortrain {
namespace {

using Contents = inference::InferTensorContents;

std::vector<double> numbers_of(const Contents& contents) {
  std::vector<double> numbers;
  const auto add = [&](const auto& field) { numbers.insert(numbers.end(), field.begin(), field.end()); };
  add(contents.bool_contents());
  add(contents.int_contents());
  add(contents.int64_contents());
  add(contents.uint_contents());
  add(contents.uint64_contents());
  add(contents.fp32_contents());
  add(contents.fp64_contents());
  return numbers;
}

Tensor read_tensor(const inference::ModelInferRequest& request, int number) {
  const auto& input = request.inputs(number);
  const Datatype& type = datatype_of(input.datatype());
  std::vector<std::int64_t> shape(input.shape().begin(), input.shape().end());
  if (request.raw_input_contents_size() > 0) {
    if (request.raw_input_contents_size() != request.inputs_size() || input.has_contents()) {
      throw Refused("expected the contents of all inputs in raw_input_contents, or of none");
    }
    return tensor_of_bytes(input.name(), std::move(shape), type, request.raw_input_contents(number));
  }
  const auto& texts = input.contents().bytes_contents();
  if (!texts.empty()) return tensor_of_texts(input.name(), std::move(shape), type, {texts.begin(), texts.end()});
  return tensor_of_numbers(input.name(), std::move(shape), type, numbers_of(input.contents()));
}

}  // namespace

InferenceRequest read_inference(const inference::ModelInferRequest& request) {
  InferenceRequest read;
  if (!request.id().empty()) read.id = request.id();
  if (request.inputs().empty()) throw Refused("the request has no inputs");
  for (int i = 0; i < request.inputs_size(); ++i) read.inputs.push_back(read_tensor(request, i));
  for (const auto& output : request.outputs()) {
    WantedOutput wanted{output.name()};
    if (const auto found = output.parameters().find("classification"); found != output.parameters().end()) {
      wanted.classes = found->second.int64_param();
      if (wanted.classes < 0) throw Refused("'classification': expected a number from 0");
    }
    read.outputs.push_back(std::move(wanted));
  }
  return read;
}

void write_inference(const InferenceResponse& response, inference::ModelInferResponse& to) {
  to.set_model_name(response.model);
  to.set_model_version(response.version);
  if (response.id) to.set_id(*response.id);
  for (const OutputTensor& output : response.outputs) {
    auto& made = *to.add_outputs();
    made.set_name(output.name);
    made.set_datatype(output.texts.empty() ? "FP32" : "BYTES");
    for (const std::int64_t extent : output.shape) made.add_shape(extent);
    to.add_raw_output_contents(bytes_of(output));
  }
}

}  // namespace mirrortrain
