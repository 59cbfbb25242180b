#include "strategy/parameter_server/parameter_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "strategy/parameter_server/messages.h"
#include "strategy/parameter_server/parameter_server.grpc.pb.h"
#include "strategy/parameter_server/reported_reason.h"
#include "strategy/parameter_server/served_variables.h"
#include "strategy/parameter_server/shared_places.h"

namespace mirrortrain {
namespace {

using namespace parameter_server;

const grpc::Status kNoToken(grpc::StatusCode::UNAUTHENTICATED, "the token is missing or wrong");

grpc::Status wrong_size(std::int64_t expected) {
  return {grpc::StatusCode::INVALID_ARGUMENT,
          fmt::format("expected {} elements; all tasks need the same configuration", expected)};
}

/// Memory for elements, not zeroed.
struct FloatBuffer {
  explicit FloatBuffer(std::int64_t count)
      : size(static_cast<std::size_t>(count)), data(std::make_unique_for_overwrite<float[]>(size)) {}
  std::span<float> span() const { return {data.get(), size}; }
  std::size_t size;
  std::unique_ptr<float[]> data;
};

/// Returns an exception thrown by `use` as the RPC's status.
template <class Use>
grpc::Status status_of(const Use& use) {
  try {
    return use();
  } catch (const std::exception& error) {
    return {grpc::StatusCode::FAILED_PRECONDITION, error.what()};
  }
}

}  // namespace

class ParameterServer::Body final : public Parameters::Service {
 public:
  Body(Placement placement, int index, const GradientOptions& gradients, rpc::Security security)
      : placement_(std::move(placement)),
        index_(index),
        security_(std::move(security)),
        variables_(placement_, index, gradients) {}

  grpc::Status Pull(grpc::ServerContext* context, const PullRequest* request,
                    grpc::ServerWriter<Pulled>* writer) override {
    if (!security_.accepts(*context)) return kNoToken;
    const auto content = static_cast<Content>(request->content());
    if (content != Content::kChanging && content != Content::kValues && content != Content::kState &&
        content != Content::kDense) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "unknown content"};
    }
    return status_of([&]() -> grpc::Status {
      std::vector<PartRows> rows;
      for (const TableRows& of : request->rows()) rows.push_back(part_rows_of(of));
      const auto send_rows = [&] {
        Pulled part;
        for (const PartRows& of : rows) {
          send_floats(of.values, [&](std::string values) {
            part.set_row_values(std::move(values));
            return writer->Write(part);
          });
        }
        return grpc::Status::OK;
      };
      Pulled message;
      if (const auto place = places_.find(*request, placement_.elements(index_, content))) {
        message.set_version(variables_.pull(request->generation(), content, place->elements, rows));
        message.set_is_in_place(true);
        writer->Write(message);
        return send_rows();
      }
      const FloatBuffer elements(placement_.elements(index_, content));
      message.set_version(variables_.pull(request->generation(), content, elements.span(), rows));
      send_elements(elements.span(), message, [&](const Pulled& part) { return writer->Write(part); });
      return send_rows();
    });
  }

  grpc::Status Push(grpc::ServerContext* context, grpc::ServerReader<PushMessage>* reader, PushReply* reply) override {
    if (!security_.accepts(*context)) return kNoToken;
    PushMessage message;
    if (!reader->Read(&message) || !message.has_header()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "expected a header"};
    }
    const PushMessage::Header header = message.header();
    return status_of([&]() -> grpc::Status {
      const std::int64_t count = placement_.elements(index_, Content::kDense);
      const auto place = places_.find(header, count);  // mapped until the push is applied
      if (header.has_place() && !place) throw Error("the gradients are not in the memory that is shared");
      const FloatBuffer elements(place ? 0 : count);
      std::vector<PartRows> rows;
      if (!receive(*reader, message, elements.span(), &rows)) return wrong_size(count);
      const PushResult result =
          variables_.push({header.generation(), header.version(), header.step(), header.oldest_open_step(),
                           header.updates(), learning_rates_of(header.learning_rates()), header.scale()},
                          place ? place->elements : elements.span(), rows);
      reply->set_applied(result.applied);
      reply->set_staleness(result.staleness);
      return grpc::Status::OK;
    });
  }

  grpc::Status Write(grpc::ServerContext* context, grpc::ServerReader<WriteMessage>* reader, WriteReply*) override {
    if (!security_.accepts(*context)) return kNoToken;
    WriteMessage message;
    if (!reader->Read(&message)) return {grpc::StatusCode::INVALID_ARGUMENT, "expected a generation"};
    const std::int64_t generation = message.generation();
    return status_of([&]() -> grpc::Status {
      const FloatBuffer elements(placement_.elements(index_, Content::kState));
      if (!receive(*reader, message, elements.span())) return wrong_size(static_cast<std::int64_t>(elements.size));
      variables_.write(generation, elements.span());
      return grpc::Status::OK;
    });
  }

  grpc::Status Status(grpc::ServerContext* context, const StatusRequest*, StatusReply* reply) override {
    if (!security_.accepts(*context)) return kNoToken;
    reply->set_generation(variables_.generation());
    return grpc::Status::OK;
  }

  grpc::Status End(grpc::ServerContext* context, const EndRequest* request, EndReply*) override {
    if (!security_.accepts(*context)) return kNoToken;
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    failure_ = request->failure();
    changed_.notify_all();
    return grpc::Status::OK;
  }

  void serve(const std::function<std::string()>& failure) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return ended_; })) {
      if (const std::string reason = failure ? failure() : ""; !reason.empty()) throw Error(reason);
    }
    if (failure_.empty()) return;
    throw Error(reported_reason(failure, fmt::format("the run failed: {}", failure_)));
  }

 private:
  /// Reads the elements of an RPC, of which `message` is the first.
  template <class Reader, class Message>
  bool receive(Reader& reader, Message& message, std::span<float> to, std::vector<PartRows>* rows = nullptr) const {
    ElementsReceiver receiver(to);
    std::int64_t floats = 0;
    do {
      if (!receiver.take(message.elements())) return false;
      if constexpr (requires { message.rows(); }) {
        for (const TableRows& of : message.rows()) {
          floats += static_cast<std::int64_t>((of.numbers().size() + of.values().size()) / sizeof(float));
          if (floats > placement_.row_floats(index_)) return false;
          append(part_rows_of(of), *rows);
        }
      }
    } while (reader.Read(&message));
    return receiver.is_full();
  }

  const Placement placement_;
  const int index_;
  const rpc::Security security_;
  ServedVariables variables_;
  SharedPlaces places_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::string failure_;
};

ParameterServer::ParameterServer(Placement placement, int index, const GradientOptions& gradients,
                                 rpc::Security security)
    : body_(std::make_unique<Body>(std::move(placement), index, gradients, std::move(security))) {}
ParameterServer::~ParameterServer() = default;
grpc::Service& ParameterServer::service() const { return *body_; }
void ParameterServer::serve(const std::function<std::string()>& failure) const { body_->serve(failure); }

}  // namespace mirrortrain
