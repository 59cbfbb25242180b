#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "serve/http/http_message.h"
#include "serve/http/tokens.h"
#include "serve/model/metrics.h"
#include "serve/model/served_model.h"

namespace mirrortrain {

/// A model over HTTP: the Open Inference Protocol (version 2) with the binary data and classification extensions,
/// /metrics, and a page for people.
class ModelService : public HttpService {
 public:
  /// All must outlive it. Every request but those for health and for the page itself must have one of the tokens.
  ModelService(ServedModel& model, Metrics& metrics, const Tokens& tokens);

  /// From now on the server says that it is not ready.
  void set_draining() { drains_ = true; }

  bool refuses(const HttpRequest& head, HttpResponse& response) override;
  void handle(HttpRequest request, HttpReply reply) override;
  HttpResponse too_large(const HttpRequest& head, std::size_t limit) override;
  HttpResponse overloaded(const HttpRequest& head) override;
  HttpResponse malformed(const HttpRequest& head, const std::string& why) override;

 private:
  struct Route;
  std::optional<Route> find_route(const std::string& path) const;
  bool may_ask(const HttpRequest& head) const;
  HttpResponse refusal(int status, const std::string& why);
  HttpResponse health(bool is_well) const;
  HttpResponse server_metadata() const;
  HttpResponse model_metadata() const;
  void infer(const HttpRequest& request, const HttpReply& reply);

  ServedModel& model_;
  Metrics& metrics_;
  const Tokens& tokens_;
  std::atomic<bool> drains_ = false;
};

}  // namespace mirrortrain
