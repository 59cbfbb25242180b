#include "serve/grpc/grpc_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/version.h"
#include "cluster/address.h"
#include "rpc/grpc_log.h"
#include "serve/grpc/answer_thread.h"
#include "serve/grpc/grpc_tensors.h"
#include "serve/grpc/open_inference.grpc.pb.h"
#include "serve/http/listening_socket.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;
using Reactor = grpc::ServerUnaryReactor;

/// Messages that are being received have so many times the memory of the largest, together.
constexpr std::size_t kMessagesTogether = 4;

grpc::StatusCode code_of(int status) {
  switch (status) {
    case 401: return grpc::StatusCode::UNAUTHENTICATED;
    case 404: return grpc::StatusCode::NOT_FOUND;
    case 413: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case 503: return grpc::StatusCode::UNAVAILABLE;
    case 500: return grpc::StatusCode::INTERNAL;
    default: return grpc::StatusCode::INVALID_ARGUMENT;
  }
}

}  // namespace

using Service = inference::GRPCInferenceService;

/// Requests for predictions come as bytes, since a token and their size are looked at before they are parsed.
class InferenceService : public Service::WithRawCallbackMethod_ModelInfer<Service::CallbackService> {
 public:
  InferenceService(ServedModel& model, RequestMetrics& metrics, const Tokens& tokens)
      : model_(model), metrics_(metrics), tokens_(tokens) {}

  Reactor* ServerLive(grpc::CallbackServerContext* call, const inference::ServerLiveRequest*,
                      inference::ServerLiveResponse* to) override {
    to->set_live(true);
    return finished(call);
  }
  Reactor* ServerReady(grpc::CallbackServerContext* call, const inference::ServerReadyRequest*,
                       inference::ServerReadyResponse* to) override {
    to->set_ready(true);
    return finished(call);
  }
  Reactor* ModelReady(grpc::CallbackServerContext* call, const inference::ModelReadyRequest* request,
                      inference::ModelReadyResponse* to) override {
    return answered(call, request->name(), request->version(), [&] { to->set_ready(true); });
  }
  Reactor* ServerMetadata(grpc::CallbackServerContext* call, const inference::ServerMetadataRequest*,
                          inference::ServerMetadataResponse* to) override {
    return answered(call, model_.name(), "", [&] {
      to->set_name("mirrortrain");
      to->set_version(kVersion);
      to->add_extensions("classification");
    });
  }
  Reactor* ModelMetadata(grpc::CallbackServerContext* call, const inference::ModelMetadataRequest* request,
                         inference::ModelMetadataResponse* to) override {
    return answered(call, request->name(), request->version(), [&] {
      const auto metadata = model_.metadata();
      to->set_name(metadata.name);
      to->add_versions(metadata.version);
      to->set_platform(std::string(metadata.platform));
      const auto fill = [](auto& tensor, const auto& of) {
        tensor.set_name(of.name);
        tensor.set_datatype(std::string(of.datatype));
        for (const std::int64_t extent : of.shape) tensor.add_shape(extent);
      };
      for (const auto& input : metadata.inputs) fill(*to->add_inputs(), input);
      for (const auto& output : metadata.outputs) fill(*to->add_outputs(), output);
    });
  }
  Reactor* ModelInfer(grpc::CallbackServerContext* call, const grpc::ByteBuffer* bytes, grpc::ByteBuffer* to) override {
    const Clock::time_point begin = Clock::now();
    Reactor* const reactor = call->DefaultReactor();
    const auto refuse = [this, reactor](int status, const std::string& why) {
      metrics_.add_refused(status);
      reactor->Finish({code_of(status), why});
    };
    const auto work = [&] {
      require_token(*call);
      const inference::ModelInferRequest request = parse_request(*bytes);
      model_.require_is(request.model_name(), request.model_version());
      ServedModel::Arriving arriving(model_.arriving());
      const auto make = [this, begin, reactor, refuse, to](const ServedModel::Answer& answer) {
        const auto respond = [&] {
          if (!answer.error.empty()) throw Refused(answer.error, 500);
          inference::ModelInferResponse response;
          write_inference(answer.make(), response);
          bool owns = false;
          const grpc::Status status =
              grpc::SerializationTraits<inference::ModelInferResponse>::Serialize(response, to, &owns);
          if (!status.ok())
            throw Refused("the answer is larger than a message may be; send fewer examples at once", 413);
          metrics_.add_answered(answer.examples, Clock::now() - begin);
          reactor->Finish(grpc::Status::OK);
        };
        work_or_refuse(respond, refuse);
      };
      model_.infer(read_inference(request), arriving, [this, make](ServedModel::Answer answer) {
        answers_.add([make, answer = std::move(answer)] { make(answer); });
      });
    };
    work_or_refuse(work, refuse);
    return reactor;
  }

 private:
  static Reactor* finished(grpc::CallbackServerContext* call, const grpc::Status& status = grpc::Status::OK) {
    Reactor* const reactor = call->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  void require_token(const grpc::CallbackServerContext& call) const {
    const auto found = call.client_metadata().find("authorization");
    const bool has_token = found != call.client_metadata().end();
    if (!tokens_.accept(has_token ? std::string_view(found->second.data(), found->second.size()) : "")) {
      throw Refused(Tokens::expected("the metadata authorization"), 401);
    }
  }

  /// `version`: empty for any.
  template <class Fill>
  Reactor* answered(grpc::CallbackServerContext* call, const std::string& model, const std::string& version,
                    const Fill& fill) {
    grpc::Status status;
    const auto work = [&] {
      require_token(*call);
      model_.require_is(model, version);
      fill();
    };
    work_or_refuse(work, [&](int code, const std::string& why) {
      metrics_.add_refused(code);
      status = {code_of(code), why};
    });
    return finished(call, status);
  }

  ServedModel& model_;
  RequestMetrics& metrics_;
  const Tokens& tokens_;
  AnswerThread answers_;
};

class GrpcServer::Impl {
 public:
  Impl(const GrpcOptions& options, ServedModel& model, RequestMetrics& metrics, const Tokens& tokens)
      : service_(model, metrics, tokens) {
    rpc::quiet_grpc();
    if (options.port != 0) const ListeningSocket says_why_not(options.host, options.port);
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // another server's port is an error
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<std::size_t>(options.most_body, 1 << 30)));
    grpc::ResourceQuota quota("serve");  // of all messages that are being received
    quota.Resize(kMessagesTogether * std::max(options.most_body, std::size_t{16} << 20));
    builder.SetResourceQuota(quota);
    builder.AddListeningPort(Address{options.host, options.port}.text(), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      throw Error(fmt::format("cannot listen at {}, port {}, for gRPC; give another --grpc-port, or 0 for any",
                              options.host, options.port));
    }
  }

  int port() const { return port_; }
  void drain(std::chrono::seconds limit) { server_->Shutdown(std::chrono::system_clock::now() + limit); }

 private:
  InferenceService service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

std::string why_no_grpc() { return ""; }

GrpcServer::GrpcServer(const GrpcOptions& options, ServedModel& model, RequestMetrics& metrics, const Tokens& tokens)
    : impl_(std::make_unique<Impl>(options, model, metrics, tokens)) {}
GrpcServer::~GrpcServer() = default;
int GrpcServer::port() const { return impl_->port(); }
void GrpcServer::drain(std::chrono::seconds limit) { impl_->drain(limit); }

}  // namespace mirrortrain
