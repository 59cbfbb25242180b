// The gRPC service of a server: the same answers as over HTTP.
#include <doctest/doctest.h>
#include <grpcpp/grpcpp.h>

#include <string>
#include <vector>

#include "cli/served_program.h"
#include "serve/grpc/open_inference.grpc.pb.h"

namespace mirrortrain::testing {
namespace {

using inference::GRPCInferenceService;

inference::ModelInferRequest request_of(const std::vector<float>& numbers) {
  inference::ModelInferRequest request;
  request.set_model_name("small");
  auto& input = *request.add_inputs();
  input.set_name("input");
  input.set_datatype("FP32");
  for (const std::int64_t extent :
       {static_cast<std::int64_t>(numbers.size() / kElements), std::int64_t{8}, std::int64_t{8}, std::int64_t{3}}) {
    input.add_shape(extent);
  }
  return request;
}

struct Answer {
  grpc::Status status;
  inference::ModelInferResponse response;
};

class Client {
 public:
  explicit Client(const std::string& address)
      : stub_(GRPCInferenceService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}
  GRPCInferenceService::Stub& stub() { return *stub_; }
  Answer infer(const inference::ModelInferRequest& request, const std::string& token = "") {
    grpc::ClientContext call;
    if (!token.empty()) call.AddMetadata("authorization", "Bearer " + token);
    Answer answer;
    answer.status = stub_->ModelInfer(&call, request, &answer.response);
    return answer;
  }

 private:
  std::unique_ptr<GRPCInferenceService::Stub> stub_;
};

TEST_CASE("over gRPC answers have the bits of predict too") {
  const TemporaryFolder folder;
  train(folder);
  const std::vector<float> all = examples(50);
  const std::string expected = predicted(folder, all);
  Server server(folder, "small", {"--grpc-port", "0"});
  Client client(server.grpc_address());
  inference::ModelInferRequest raw = request_of(all), typed = raw;
  raw.add_raw_input_contents(bytes_of(all));
  typed.mutable_inputs(0)->mutable_contents()->mutable_fp32_contents()->Add(all.begin(), all.end());
  typed.set_id("7");
  typed.set_model_version("12");
  typed.add_outputs()->set_name("dense_1");
  auto& ranked = *typed.add_outputs();
  ranked.set_name("probabilities");
  (*ranked.mutable_parameters())["classification"].set_int64_param(2);
  for (const inference::ModelInferRequest& request : {raw, typed}) {
    const Answer answer = client.infer(request);
    REQUIRE_MESSAGE(answer.status.ok(), answer.status.error_message());
    CHECK(answer.response.model_version() == "12");
    CHECK(answer.response.id() == request.id());
    CHECK(answer.response.outputs(0).name() == "dense_1");
    CHECK(answer.response.raw_output_contents(0) == expected);
    CHECK(answer.response.outputs(1).datatype() == (request.outputs().empty() ? "FP32" : "BYTES"));
  }
  grpc::ClientContext call;
  inference::ModelMetadataRequest asked;
  asked.set_name("small");
  inference::ModelMetadataResponse about;
  REQUIRE(client.stub().ModelMetadata(&call, asked, &about).ok());
  CHECK(about.inputs(0).name() == "input");
  CHECK(about.inputs(0).shape(0) == -1);
  CHECK(about.outputs_size() == 2);
  CHECK(server.ask(get("/metrics")).body.find("mirrortrain_requests_total{model=\"small\"} 2\n") != std::string::npos);
  CHECK(server.stop() == 0);
}

TEST_CASE("over gRPC wrong requests are refused with the reason") {
  const TemporaryFolder folder;
  train(folder);
  write_file(folder / "tokens", "secret\n");
  const Server server(folder, "small", {"--grpc-port", "0", "--token-file", "tokens"});
  Client client(server.grpc_address());
  const std::vector<float> one = examples(1);
  inference::ModelInferRequest right = request_of(one), other = right, few = right, twice = right;
  right.add_raw_input_contents(bytes_of(one));
  other.set_model_name("other");
  few.add_raw_input_contents("abc");
  twice.add_raw_input_contents(bytes_of(one));
  twice.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  CHECK(client.infer(right, "secret").status.ok());
  CHECK(client.infer(right).status.error_code() == grpc::StatusCode::UNAUTHENTICATED);
  CHECK(client.infer(right, "wrong").status.error_code() == grpc::StatusCode::UNAUTHENTICATED);
  CHECK(client.infer(other, "secret").status.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(client.infer(few, "secret").status.error_message() ==
        "input 'input': expected 768 bytes, those of FP32 [1, 8, 8, 3], found 3");
  CHECK(client.infer(twice, "secret").status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(client.infer({}, "secret").status.error_code() == grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace mirrortrain::testing
