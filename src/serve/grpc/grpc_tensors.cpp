#include "serve/grpc/grpc_tensors.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mirrortrain {
namespace {

using Contents = inference::InferTensorContents;

/// The elements of the list that a datatype has. Throws Refused where they are in another.
std::vector<double> numbers_of(const Contents& contents, const std::string& name, std::string_view datatype) {
  std::vector<double> numbers;
  std::size_t others = static_cast<std::size_t>(contents.bytes_contents_size());
  const auto add = [&](const auto& field, std::initializer_list<std::string_view> of) {
    if (std::ranges::find(of, datatype) == of.end()) {
      others += static_cast<std::size_t>(field.size());
      return;
    }
    numbers.reserve(static_cast<std::size_t>(field.size()));
    for (const auto number : field) {
      if constexpr (sizeof(number) == 8 && std::is_integral_v<decltype(number)>) {
        numbers.push_back(exact(
            static_cast<std::conditional_t<std::is_signed_v<decltype(number)>, std::int64_t, std::uint64_t>>(number)));
      } else {
        numbers.push_back(static_cast<double>(number));
      }
    }
  };
  add(contents.bool_contents(), {"BOOL"});
  add(contents.int_contents(), {"INT8", "INT16", "INT32"});
  add(contents.int64_contents(), {"INT64"});
  add(contents.uint_contents(), {"UINT8", "UINT16", "UINT32"});
  add(contents.uint64_contents(), {"UINT64"});
  add(contents.fp32_contents(), {"FP32", "FP16", "BF16"});
  add(contents.fp64_contents(), {"FP64"});
  if (others > 0) {
    throw Refused(fmt::format("input '{}': {} elements are in a list of contents that its datatype {} does not have",
                              name, others, datatype));
  }
  return numbers;
}

/// Counts the fields of a message and of those within it; false where there are more than `left`, or it is damaged.
bool count_fields(google::protobuf::io::CodedInputStream& input, const google::protobuf::Descriptor& message,
                  std::int64_t& left) {
  using google::protobuf::internal::WireFormatLite;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (--left < 0) return false;
    const auto* const field = message.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const bool has_bytes = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!has_bytes || field == nullptr || field->message_type() == nullptr) {
      if (!WireFormatLite::SkipField(&input, tag)) return false;
      continue;
    }
    int bytes = 0;
    if (!input.ReadVarintSizeAsInt(&bytes)) return false;
    const auto outside = input.PushLimit(bytes);
    if (!count_fields(input, *field->message_type(), left)) return false;
    if (input.BytesUntilLimit() > 0) return false;
    input.PopLimit(outside);
  }
  return true;
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
  return tensor_of_numbers(input.name(), std::move(shape), type,
                           numbers_of(input.contents(), input.name(), input.datatype()));
}

}  // namespace

inference::ModelInferRequest parse_request(const grpc::ByteBuffer& bytes) {
  // Each field takes many times its bytes once it is parsed.
  constexpr std::int64_t kMostFields = std::int64_t{1} << 20;
  const auto read = [&](const auto& use) {
    grpc::ByteBuffer own(bytes);
    grpc::ProtoBufferReader reader(&own);
    return use(reader);
  };
  std::int64_t left = kMostFields;
  const bool is_counted = read([&](grpc::ProtoBufferReader& reader) {
    google::protobuf::io::CodedInputStream input(&reader);
    return count_fields(input, *inference::ModelInferRequest::descriptor(), left);
  });
  if (left < 0) {
    throw Refused(
        fmt::format("expected at most {} fields and elements one by one; send raw_input_contents", kMostFields), 413);
  }
  inference::ModelInferRequest request;
  if (!is_counted || !read([&](grpc::ProtoBufferReader& reader) { return request.ParseFromZeroCopyStream(&reader); })) {
    throw Refused("expected a ModelInferRequest; the message is damaged");
  }
  return request;
}

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
