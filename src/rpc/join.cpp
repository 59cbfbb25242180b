// Assembles a task's part of the control plane: the chief has the hub, the others a connection to it.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <future>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "cluster/address.h"
#include "cluster/reachable_host.h"
#include "cluster/token.h"
#include "rpc/coordination_service.h"
#include "rpc/grpc_log.h"
#include "rpc/member.h"
#include "rpc/outbox.h"
#include "rpc/task_server.h"
#include "rpc/timing.h"

namespace mirrortrain::rpc {
namespace {

using Deadline = std::chrono::system_clock;  // gRPC's
constexpr std::chrono::seconds kLeave{3};
constexpr std::chrono::milliseconds kLeaveFailed{500};
constexpr std::chrono::milliseconds kAgain{200};

/// gRPC silently ends the program if the system cannot create a thread, so this first tries to create as many as gRPC
/// may need. Throws std::system_error.
void require_threads() {
  constexpr int kThreads = 24;
  std::latch end(1);
  std::vector<std::jthread> threads;
  try {
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([&end] { end.wait(); });
  } catch (...) {
    end.count_down();
    throw;
  }
  end.count_down();
}

class ChiefControl : public Member {
 public:
  ChiefControl(const ClusterSpec& cluster, const Security& security, const Timeouts& timeouts,
               std::span<grpc::Service* const> services, const Generation& generation)
      : Member(
            cluster, [this](const FromTask& message) { send_to_hub(message); }, timeouts),
        security_(security),
        hub_(cluster, timeouts, generation),
        service_(hub_, security_, most_calls(cluster)),
        inbox_([this](const ToTask& message) {
          handle_message(message);
          return true;
        }),
        services_(services.begin(), services.end()) {}

  /// Called after the chief's own handshake, with which the others' are compared.
  void listen() {
    services_.push_back(&service_);
    server_ = start_server(cluster(), security_, services_);
  }

  ~ChiefControl() override {
    stop_heart();
    say_goodbye();
    if (failure().empty()) hub_.wait_for_goodbyes(kLeave);
    if (server_) {
      server_->Shutdown(Deadline::now() + std::chrono::seconds(1));  // outboxes are sent first
      server_->Wait();
    }
    if (session_.task >= 0) hub_.disconnect(session_);
    inbox_.close();
  }

  std::vector<Task> lost() const override { return hub_.lost(); }
  std::vector<Loss> losses() const override { return hub_.losses(); }

 private:
  void send_to_hub(const FromTask& message) {
    if (message.has_hello()) {
      session_ = hub_.connect(message.hello(), [this](const ToTask& reply) { inbox_.send(reply); });
    } else if (session_.task >= 0) {
      hub_.handle_message(session_, message);
    }
  }

  const Security security_;
  Hub::Session session_;
  Hub hub_;
  CoordinationService service_;
  Outbox<ToTask> inbox_;
  std::vector<grpc::Service*> services_;
  std::unique_ptr<grpc::Server> server_;
};

class RemoteControl : public Member {
 public:
  RemoteControl(const ClusterSpec& cluster, const Security& security, const Timeouts& timeouts,
                std::span<grpc::Service* const> services)
      : Member(
            cluster, [this](const FromTask& message) { outbox_->send(message); }, timeouts),
        security_(security),
        channel_(security_.channel(cluster.address(cluster.chief_task()))) {
    if (!services.empty()) server_ = start_server(cluster, security_, services);
  }
  ~RemoteControl() override {
    stop_heart();
    if (outbox_) {
      if (failure().empty() || regroups()) say_goodbye();
      outbox_->close();
      stream_->WritesDone();
      // The chief ends the session once it has read everything; a dead chief never does.
      const auto limit = failure().empty() ? std::chrono::milliseconds(kLeave) : kLeaveFailed;
      if (read_all_.get_future().wait_for(limit) == std::future_status::timeout) call_.TryCancel();
      if (reader_.joinable()) reader_.join();  // unless it could not be started
    }
    if (server_) server_->Shutdown(Deadline::now());
  }

  /// `why`: a possible reason why the chief does not answer.
  void connect(double seconds, const std::string& why) {
    const ClusterSpec& all = cluster();
    const std::string chief = all.describe_chief();
    const std::string waits = fmt::format("waiting for {}", chief.substr(0, chief.find_last_not_of(',') + 1));
    const auto begin = Deadline::now();
    const auto end = begin + std::chrono::duration_cast<Deadline::duration>(std::chrono::duration<double>(seconds));
    bool has_waited = false;
    std::chrono::seconds pause = kMismatch;  // a longer one follows
    while (
        !channel_->WaitForConnected(seconds > 0 ? std::min(end, Deadline::now() + pause) : Deadline::now() + pause)) {
      // A name may become resolvable while tasks start, as a pod's does, so it is an error only at the end.
      const std::string unknown = name_error(Address::of(all.address(all.chief_task())).host);
      if (seconds > 0 && Deadline::now() >= end) {
        throw Error(fmt::format("{}: {}{} within {:g} s: {}", all.task.text(), chief, kIsSilent, seconds,
                                unknown.empty() ? why : fmt::format("its name has no address here ({})", unknown)));
      }
      const bool is_first = std::exchange(pause, kReminder) == kMismatch;
      const std::string differs = unknown.empty() ? difference() : "";
      if (!differs.empty()) {
        spdlog::warn("{}: {}", waits, differs);
      } else if (is_first) {
        continue;
      } else if (unknown.empty()) {
        spdlog::log(std::exchange(has_waited, true) ? spdlog::level::info : spdlog::level::warn, "{}", waits);
      } else {
        spdlog::warn("{}: its name has no address here ({})", waits, unknown);
      }
    }
    stub_ = Coordination::NewStub(channel_);
    security_.sign(call_);
    stream_ = stub_->Session(&call_);
    outbox_.emplace([this](const FromTask& message) { return stream_->Write(message); });
    reader_ = std::thread([this] { read(); });
  }

 private:
  /// Why the chief listens but does not respond as expected; empty if it does not listen.
  std::string difference() {
    grpc::ClientContext call;  // its status has the reason why there is no connection
    security_.sign(call);
    call.set_deadline(Deadline::now() + std::chrono::seconds(1));
    const grpc::Status status = Coordination::NewStub(channel_)->Session(&call)->Finish();
    const std::string& text = status.error_message();
    spdlog::debug("no connection: {}", text);
    if (const std::string fault = handshake_fault(text); !fault.empty()) return fault;
    const auto says = [&](const char* word) { return text.find(word) != std::string::npos; };
    const bool is_ended = says("closed") || says("reset by peer") || says("Broken pipe") || says("closing");
    const Address address = Address::of(cluster().address(cluster().chief_task()));
    const std::optional<std::string> greeting = greeting_at(address.host, address.port);
    const bool is_text = greeting && !greeting->empty() && (*greeting)[0] >= ' ' && (*greeting)[0] <= '~';
    if (is_text) {  // unlike the first bytes of gRPC or TLS
      return fmt::format("what listens there is no mirrortrain: it says '{}'; check the address", shortened(*greeting));
    }
    if (is_ended) return "it ends every connection, as one with tls does";
    return greeting ? "something listens there that does not answer as a mirrortrain does; check the address" : "";
  }

  void read() {
    ToTask message;
    while (stream_->Read(&message)) handle_message(message);
    read_all_.set_value();
    const grpc::Status status = stream_->Finish();
    const std::string chief = cluster().describe_chief();
    switch (status.error_code()) {
      case grpc::StatusCode::UNAUTHENTICATED:
        return take_refusal(fmt::format(
            "{} refuses {}: {}; give every task the same strategy.cluster.token_file or {} (also `launch`, which "
            "makes one otherwise)",
            chief, cluster().task.text(), status.error_message(), kTokenVariable));
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
        return take_refusal(fmt::format(
            "{} has more connections than its tasks need: strangers hold them; set strategy.cluster.token_file",
            chief));
      default: return lose_chief(kHasEnded);
    }
  }

  void take_refusal(const std::string& reason) {
    ToTask refusal;
    refusal.set_refusal(reason);
    handle_message(refusal);
  }

  const Security security_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<grpc::Server> server_;
  grpc::ClientContext call_;
  std::unique_ptr<Coordination::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<FromTask, ToTask>> stream_;
  std::optional<Outbox<FromTask>> outbox_;
  std::promise<void> read_all_;
  std::thread reader_;
};

/// How long a task waits for the welcome; 0: no limit. In an elastic run the others may give up tasks that do not come,
/// and first let one that has come back settle, and save a checkpoint.
double longest_until_welcomed(const Timeouts& timeouts, bool is_chief) {
  if (!timeouts.elastic || timeouts.join_seconds <= 0) return timeouts.join_seconds;
  const double regroups = timeouts.regroup_seconds + 2 * seconds(kLeave);
  return std::max(timeouts.join_seconds, is_chief ? regroups : regroups + seconds(kLongestSettled));
}

/// How long a task of an elastic run tries to reach the chief for the next generation; 0: no limit. One that was cut
/// off for the silence that counts as a failure may be so for longer, but a chief that is stopped must end the run at
/// last.
double longest_until_regrouped(const Timeouts& timeouts, bool was_cut_off) {
  constexpr double kCuts = 2;
  if (timeouts.silence_seconds <= 0) return 2 * timeouts.regroup_seconds;
  const double between_two = timeouts.silence_seconds + seconds(kLeave);
  return was_cut_off ? std::max(kCuts * timeouts.silence_seconds, between_two) : between_two;
}

}  // namespace

std::unique_ptr<ControlPlane> ControlPlane::join(const ClusterSpec& cluster, const Security& security,
                                                 const Handshake& handshake, const Timeouts& timeouts,
                                                 std::span<grpc::Service* const> services,
                                                 const Generation& generation) {
  require_threads();
  quiet_grpc();
  if (cluster.is_chief()) {
    auto chief = std::make_unique<ChiefControl>(cluster, security, timeouts, services, generation);
    chief->send_handshake(handshake, generation.number);
    chief->listen();
    chief->wait_for_welcome(longest_until_welcomed(timeouts, true));
    return chief;
  }
  // A new process does not know the current generation; one that took part before knows the next.
  const bool begins = generation.number == 1;
  const int number = begins ? 0 : generation.number;
  const double longest = begins ? timeouts.join_seconds : longest_until_regrouped(timeouts, generation.was_cut_off);
  const std::string why = begins ? fmt::format(
                                       "it has not started, the address in {} is another, a firewall is "
                                       "between, or the two differ in tls",
                                       cluster.source)
                                 : "the run is over, it is stopped, or the network is cut";
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    auto remote = std::make_unique<RemoteControl>(cluster, security, timeouts, services);
    remote->connect(longest, why);
    remote->send_handshake(handshake, number);
    try {
      remote->wait_for_welcome(longest_until_welcomed(timeouts, false));
      return remote;
    } catch (const JoinAgain&) {
      remote.reset();
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
      if (timeouts.join_seconds > 0 && waited.count() > timeouts.join_seconds) {
        throw Error(fmt::format("{} could not join the run within {:g} s", cluster.describe(cluster.task),
                                timeouts.join_seconds));
      }
      std::this_thread::sleep_for(kAgain);
    }
  }
}

}  // namespace mirrortrain::rpc
