#include "strategy/parameter_server/parameter_client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>

#include "rpc/status_text.h"
#include "strategy/parameter_server/messages.h"
#include "strategy/parameter_server/parameter_server.grpc.pb.h"

namespace mirrortrain {
namespace {

using namespace parameter_server;

/// Time limit for a server's short RPCs.
constexpr double kShortSeconds = 3;

/// An RPC's context.
struct Call {
  Call(const rpc::Security& security, double seconds) {
    security.sign(context);
    if (seconds <= 0) return;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::microseconds(std::int64_t(seconds * 1e6)));
  }
  grpc::ClientContext context;
};

/// Sets the rows' values, which arrived one after the other.
void take_values(std::span<const float> values, std::vector<PartRows>& rows) {
  for (PartRows& of : rows) {
    std::copy_n(values.begin(), of.values.size(), of.values.begin());
    values = values.subspan(of.values.size());
  }
}

/// Calls write(message) with as many rows as fit in each.
template <class Write>
void send_rows(const std::vector<PartRows>& rows, const Write& write) {
  for (const PartRows& of : rows) {
    if (of.numbers.empty()) continue;
    const std::size_t width = of.values.size() / of.numbers.size();
    const std::size_t together = std::max<std::size_t>(1, kMessageElements / (width + 1));
    for (std::size_t first = 0; first < of.numbers.size(); first += together) {
      const std::size_t count = std::min(together, of.numbers.size() - first);
      PushMessage message;
      TableRows& part = *message.add_rows();
      part.set_part(static_cast<std::int32_t>(of.part));
      part.set_numbers(of.numbers.data() + first, count * sizeof(float));
      part.set_values(of.values.data() + first * width, count * width * sizeof(float));
      if (!write(message)) return;
    }
  }
}

}  // namespace

struct ParameterClient::Server {
  Server(int index_, std::string address_, const rpc::Security& security_)
      : index(index_),
        address(std::move(address_)),
        security(security_),
        stub(Parameters::NewStub(security.channel(address))) {}

  int index;
  std::string address;
  const rpc::Security& security;
  std::unique_ptr<Parameters::Stub> stub;
  /// Whether it reads and writes the shared memory; unknown before the first request. Set by pulls, read by pushes.
  enum class Shares : std::uint8_t { kUnknown, kYes, kNo };
  mutable std::atomic<Shares> shares = Shares::kUnknown;

  void require(const grpc::Status& status, std::string_view doing) const {
    if (status.ok()) return;
    throw ServerError(index,
                      fmt::format("ps {} ({}): {}: {}", index, address, doing, rpc::status_text(status, security)));
  }
};

ParameterClient::ParameterClient(const Placement& placement, std::vector<std::string> addresses,
                                 const rpc::Security& security, double timeout_seconds)
    : placement_(placement), security_(security), timeout_seconds_(timeout_seconds) {
  for (std::string& address : addresses) {
    servers_.push_back(std::make_unique<Server>(static_cast<int>(servers_.size()), std::move(address), security_));
  }
}

ParameterClient::~ParameterClient() = default;

/// Calls call(server, its first element, count) for all servers concurrently; throws the first error.
template <class Call>
void ParameterClient::for_each_server(Content content, const Call& call) const {
  std::vector<std::future<void>> others;
  std::int64_t first = 0;
  for (const auto& server : servers_) {
    const std::int64_t count = placement_.elements(server->index, content);
    const auto ask = [&call, &server = *server, first, count] {
      call(server, static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    };
    const bool last = server == servers_.back();
    others.push_back(std::async(last ? std::launch::deferred : std::launch::async, ask));
    first += count;
  }
  std::exception_ptr error;
  for (auto other = others.rbegin(); other != others.rend(); ++other) {
    try {
      other->get();
    } catch (...) {
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

/// Whether the elements are in the shared memory.
bool ParameterClient::is_shared(std::span<const float> elements) const {
  if (shared_ == nullptr) return false;
  const auto bytes = std::as_bytes(elements);
  const auto memory = shared_->bytes();
  return std::greater_equal<>()(bytes.data(), memory.data()) &&
         std::less_equal<>()(bytes.data() + bytes.size(), memory.data() + memory.size());
}

/// Puts the rows in a request; returns how many elements they have.
std::size_t ParameterClient::ask_for(const std::vector<PartRows>& rows, auto& request) const {
  std::size_t elements = 0;
  for (const PartRows& of : rows) {
    TableRows& wanted = *request.add_rows();
    wanted.set_part(static_cast<std::int32_t>(of.part));
    wanted.set_numbers(of.numbers.data(), of.numbers.size() * sizeof(float));
    elements += of.values.size();
  }
  return elements;
}

template <class Message>
void ParameterClient::write_place(std::span<const float> elements, Message& message) const {
  SharedPlace& place = *message.mutable_place();
  place.set_name(shared_->name());
  place.set_bytes(static_cast<std::int64_t>(shared_->bytes().size()));
  place.set_first(elements.data() - reinterpret_cast<const float*>(shared_->bytes().data()));
}

std::vector<std::int64_t> ParameterClient::pull(std::int64_t generation, Content content, std::span<float> to,
                                                std::span<std::vector<PartRows>> rows) const {
  std::vector<std::int64_t> versions(servers_.size());
  for_each_server(content, [&](const Server& server, std::size_t first, std::size_t count) {
    Call call(security_, timeout_seconds_);
    PullRequest request;
    request.set_generation(generation);
    request.set_content(static_cast<int>(content));
    std::vector<PartRows>* const own_rows = rows.empty() ? nullptr : &rows[static_cast<std::size_t>(server.index)];
    std::vector<float> row_values;
    if (own_rows != nullptr) row_values.resize(ask_for(*own_rows, request));
    const std::span<float> place = to.subspan(first, count);
    const bool offers = is_shared(place) && server.shares != Server::Shares::kNo;
    if (offers) write_place(place, request);
    const auto reader = server.stub->Pull(&call.context, request);
    ElementsReceiver receiver(place), row_receiver(row_values);
    Pulled message;
    bool is_first = true, fits = true, is_in_place = false;
    while (fits && reader->Read(&message)) {
      if (std::exchange(is_first, false)) {
        versions[static_cast<std::size_t>(server.index)] = message.version();
        is_in_place = offers && message.is_in_place();
        if (offers) server.shares = is_in_place ? Server::Shares::kYes : Server::Shares::kNo;
      }
      fits = receiver.take(message.elements()) && row_receiver.take(message.row_values());
    }
    if (!fits) call.context.TryCancel();
    const grpc::Status status = reader->Finish();
    if (fits) server.require(status, "pulling variables");
    if (!fits || !(receiver.is_full() || is_in_place) || !row_receiver.is_full()) {
      throw ServerError(server.index, fmt::format("ps {} ({}): expected {} elements; all tasks need the same "
                                                  "configuration",
                                                  server.index, server.address, count));
    }
    if (own_rows != nullptr) take_values(row_values, *own_rows);
  });
  if (shared_ != nullptr) shared_->remove_name();  // every server that can use it has opened it by now
  return versions;
}

std::optional<std::int64_t> ParameterClient::push(const PushedStep& step, std::span<const std::int64_t> versions,
                                                  std::span<const float> elements,
                                                  std::span<const std::vector<PartRows>> rows) const {
  std::vector<PushReply> replies(servers_.size());
  for_each_server(Content::kDense, [&](const Server& server, std::size_t first, std::size_t count) {
    const auto index = static_cast<std::size_t>(server.index);
    Call call(security_, timeout_seconds_);
    const auto writer = server.stub->Push(&call.context, &replies[index]);
    PushMessage message;
    auto& header = *message.mutable_header();
    header.set_generation(step.generation);
    header.set_version(versions[index]);
    header.set_step(step.step);
    header.set_oldest_open_step(step.oldest_open_step);
    header.set_updates(step.updates);
    header.mutable_learning_rates()->Assign(step.learning_rates.begin(), step.learning_rates.end());
    header.set_scale(step.scale);
    const std::span<const float> own = elements.subspan(first, count);
    const bool in_place = is_shared(own) && server.shares == Server::Shares::kYes;
    if (in_place) write_place(own, header);
    send_elements(in_place ? std::span<const float>() : own, message,
                  [&](const PushMessage& part) { return writer->Write(part); });
    if (!rows.empty()) send_rows(rows[index], [&](const PushMessage& part) { return writer->Write(part); });
    writer->WritesDone();
    server.require(writer->Finish(), "pushing gradients");
  });
  std::optional<std::int64_t> staleness;
  for (const PushReply& reply : replies) {
    if (reply.applied()) staleness = std::max(staleness.value_or(0), reply.staleness());
  }
  return staleness;
}

void ParameterClient::write(std::int64_t generation, std::span<const float> state) const {
  for_each_server(Content::kState, [&](const Server& server, std::size_t first, std::size_t count) {
    Call call(security_, timeout_seconds_);
    WriteReply reply;
    const auto writer = server.stub->Write(&call.context, &reply);
    WriteMessage message;
    message.set_generation(generation);
    send_elements(state.subspan(first, count), message, [&](const WriteMessage& part) { return writer->Write(part); });
    writer->WritesDone();
    server.require(writer->Finish(), "writing variables");
  });
}

std::string ParameterClient::check(int server, std::int64_t generation) const {
  if (server < 0 || server >= placement_.servers()) return "";
  const Server& asked = *servers_[static_cast<std::size_t>(server)];
  const std::string name = fmt::format("ps {} ({})", server, asked.address);
  Call call(security_, timeout_seconds_ > 0 ? std::min(timeout_seconds_, kShortSeconds) : kShortSeconds);
  StatusReply reply;
  const grpc::Status status = asked.stub->Status(&call.context, {}, &reply);
  if (!status.ok())
    return fmt::format("{} is gone, and its variables with it: {}", name, rpc::status_text(status, security_));
  // A write in flight has increased it on some servers; a restarted server has none.
  if (reply.generation() >= generation) return "";
  return fmt::format("{} was started again and has lost its variables", name);
}

void ParameterClient::end(const std::string& failure) const {
  for (const auto& server : servers_) {
    Call call(security_, kShortSeconds);
    EndRequest request;
    request.set_failure(failure);
    EndReply reply;
    server->stub->End(&call.context, request, &reply);
  }
}

}  // namespace mirrortrain
