#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "serve/http/http_message.h"
#include "serve/http/tokens.h"
#include "serve/model/request_metrics.h"
#include "serve/model/served_model.h"

namespace mirrortrain {

/// A model over HTTP: the Open Inference Protocol (version 2) with the binary data and classification extensions,
/// /metrics, and a page for people.
class ModelService : public HttpService {
 public:
  /// All must outlive it. Every request but those for health and for the page itself must have one of the tokens.
  /// `most_body`: bytes of a body when it is inflated.
  ModelService(ServedModel& model, RequestMetrics& metrics, const Tokens& tokens, std::size_t most_body);

  /// From now on the server says that it is not ready.
  void set_draining() { drains_ = true; }

  bool refuses(const HttpRequest& head, HttpResponse& response) override;
  void handle(HttpRequest request, HttpReply reply) override;
  HttpResponse refusal(int status, const std::string& why) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Route;
  std::optional<Route> find_route(const std::string& path) const;
  bool may_ask(const HttpRequest& head) const;
  HttpResponse health(bool is_well) const;
  HttpResponse server_metadata() const;
  HttpResponse model_metadata() const;
  void infer(const HttpRequest& request, const HttpReply& reply);
  HttpResponse response_to(const ServedModel::Answer& answer, Clock::time_point begin);

  ServedModel& model_;
  RequestMetrics& metrics_;
  const Tokens& tokens_;
  std::size_t most_body_;
  std::atomic<bool> drains_ = false;
};

}  // namespace mirrortrain
