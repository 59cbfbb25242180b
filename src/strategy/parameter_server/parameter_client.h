#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "collective/shared_memory/shared_memory.h"
#include "rpc/security.h"
#include "strategy/parameter_server/placement.h"
#include "strategy/parameter_server/served_variables.h"

namespace mirrortrain {

/// A server that failed a request.
class ServerError : public Error {
 public:
  ServerError(int server_, const std::string& text) : Error(text), server(server_) {}
  int server;
};

/// Connections to all parameter servers. Messages have the elements of all servers, one after the other; each server is
/// called once, all concurrently. Functions throw ServerError, which names the server. Pulls and pushes may be on
/// different threads.
class ParameterClient {
 public:
  /// `addresses`: the servers' host:port. `timeout_seconds`: for an RPC; 0: no limit. The placement must outlive it.
  ParameterClient(const Placement& placement, std::vector<std::string> addresses, const rpc::Security& security,
                  double timeout_seconds);
  ~ParameterClient();

  /// After this call, servers on this machine read and write elements in this memory directly instead of by messages.
  /// Its name is removed once all servers have been asked. It must outlive this.
  void share(SharedMemory& memory) { shared_ = &memory; }

  /// Returns each server's version; see ServedVariables. `rows`: by server, those that one message can ask for; empty
  /// if there are none.
  std::vector<std::int64_t> pull(std::int64_t generation, Content content, std::span<float> to,
                                 std::span<std::vector<PartRows>> rows = {}) const;
  /// `versions`: as pulled for this step; `step.version` is not read. Returns the largest staleness on any server that
  /// applied it; nothing if all had applied it before.
  std::optional<std::int64_t> push(const PushedStep& step, std::span<const std::int64_t> versions,
                                   std::span<const float> elements,
                                   std::span<const std::vector<PartRows>> rows = {}) const;
  void write(std::int64_t generation, std::span<const float> state) const;

  /// Why a server cannot be used with the variables of this generation; empty if it can.
  std::string check(int server, std::int64_t generation) const;
  /// Notifies the servers that the run is done, or why it failed; skips those that are gone.
  void end(const std::string& failure) const;

 private:
  struct Server;
  bool is_shared(std::span<const float> elements) const;
  std::size_t ask_for(const std::vector<PartRows>& rows, auto& request) const;
  template <class Message>
  void write_place(std::span<const float> elements, Message& message) const;
  template <class Call>
  void for_each_server(Content content, const Call& call) const;

  const Placement& placement_;
  const rpc::Security security_;
  const double timeout_seconds_;
  std::vector<std::unique_ptr<Server>> servers_;
  SharedMemory* shared_ = nullptr;
};

}  // namespace mirrortrain
