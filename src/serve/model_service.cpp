#include "serve/model_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "base/version.h"
#include "serve/http/content_coding.h"
#include "serve/page/page.h"

namespace mirrortrain {
namespace {

using Json = nlohmann::ordered_json;

HttpResponse json_response(const Json& json, int status = 200) { return {status, "application/json", json_text(json)}; }

ContentCoding coding_of(const HttpRequest& request) {
  const std::string* const name = request.header("content-encoding");
  return content_coding_of(name != nullptr ? *name : "");
}

std::optional<std::size_t> json_bytes_of(const HttpRequest& request) {
  const std::string* const text = request.header("inference-header-content-length");
  if (text == nullptr) return std::nullopt;
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), bytes);
  if (error == std::errc() && end == text->data() + text->size()) return bytes;
  throw Refused(
      fmt::format("Inference-Header-Content-Length: expected a number of bytes, found '{}'", shortened(*text)));
}

}  // namespace

struct ModelService::Route {
  enum class To { kPage, kPageModel, kMetrics, kServer, kLive, kReady, kModel, kModelReady, kInfer };
  To to;
  bool is_open = false;  ///< without a token
  bool is_post = false;
  std::optional<std::string> model{};  ///< that the path names
  std::string version{};               ///< empty: any
};

ModelService::ModelService(ServedModel& model, RequestMetrics& metrics, const Tokens& tokens, std::size_t most_body)
    : model_(model), metrics_(metrics), tokens_(tokens), most_body_(most_body) {}

/// /v2/models/NAME[/versions/VERSION][/ready|/infer]
std::optional<ModelService::Route> ModelService::find_route(const std::string& path) const {
  using To = Route::To;
  static const std::pair<std::string_view, Route> kFixed[] = {
      {"/", {To::kPage, true}},
      {"/page/model", {To::kPageModel}},
      {"/metrics", {To::kMetrics}},
      {"/v2", {To::kServer}},
      {"/v2/", {To::kServer}},
      {"/v2/health/live", {To::kLive, true}},
      {"/v2/health/ready", {To::kReady, true}},
  };
  for (const auto& [fixed, route] : kFixed) {
    if (path == fixed) return route;
  }
  constexpr std::string_view kModels = "/v2/models/", kVersions = "/versions/", kReady = "/ready", kInfer = "/infer";
  std::string_view rest = path;
  if (!rest.starts_with(kModels)) return std::nullopt;
  rest.remove_prefix(kModels.size());
  Route route{To::kModel};
  if (rest.ends_with(kInfer)) {
    route = {To::kInfer, false, true};
    rest.remove_suffix(kInfer.size());
  } else if (rest.ends_with(kReady)) {
    route = {To::kModelReady, true};
    rest.remove_suffix(kReady.size());
  }
  const std::size_t version = rest.find(kVersions);
  route.model = rest.substr(0, version);
  if (version != rest.npos) route.version = rest.substr(version + kVersions.size());
  if (route.model->find('/') != std::string::npos || route.version.find('/') != std::string::npos) return std::nullopt;
  return route;
}

bool ModelService::may_ask(const HttpRequest& head) const {
  const std::string* const given = head.header("authorization");
  return tokens_.accept(given != nullptr ? *given : "");
}

HttpResponse ModelService::refusal(int status, const std::string& why) {
  metrics_.add_refused(status);
  return json_response({{"error", why}}, status);
}

bool ModelService::refuses(const HttpRequest& head, HttpResponse& response) {
  const std::optional<Route> route = find_route(head.path);
  if (!(route && route->is_open) && !may_ask(head)) {
    response = refusal(401, Tokens::expected("the header Authorization"));
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return true;
  }
  if (!route) {
    response = refusal(
        404, fmt::format("there is nothing at {}; the model is at /v2/models/{}", shortened(head.path), model_.name()));
    return true;
  }
  const bool is_get = head.method == "GET" || head.method == "HEAD";
  if (route->is_post ? head.method != "POST" : !is_get) {
    const char* const allowed = route->is_post ? "POST" : "GET";
    response = refusal(405, fmt::format("expected {}, found {}", allowed, shortened(head.method)));
    response.headers.emplace_back("Allow", allowed);
    return true;
  }
  bool is_refused = false;
  const auto check = [&] {
    if (route->model) model_.require_is(*route->model, route->version);
    coding_of(head);
  };
  work_or_refuse(check, [&](int status, const std::string& why) {
    response = refusal(status, why);
    is_refused = true;
  });
  return is_refused;
}

void ModelService::handle(HttpRequest request, HttpReply reply) {
  using To = Route::To;
  const auto answer = [&](HttpResponse response) {
    reply([response = std::move(response)]() mutable { return std::move(response); });
  };
  const Route route = *find_route(request.path);
  switch (route.to) {
    case To::kInfer: return infer(request, reply);
    case To::kPage:
      return answer({200,
                     "text/html; charset=utf-8",
                     std::string(kServePage),
                     {{"Content-Security-Policy", std::string(kServePagePolicy)}}});
    case To::kPageModel: return answer(json_response(page_model(model_)));
    case To::kMetrics:
      return answer({200, "text/plain; version=0.0.4; charset=utf-8",
                     metrics_.text(model_.name(), model_.step(), model_.counts())});
    case To::kServer: return answer(server_metadata());
    case To::kLive: return answer(health(true));
    case To::kReady:
    case To::kModelReady: return answer(health(!drains_));
    case To::kModel: return answer(model_metadata());
  }
}

HttpResponse ModelService::health(bool is_well) const {
  return json_response({{"name", model_.name()}, {"ready", is_well}}, is_well ? 200 : 503);
}

HttpResponse ModelService::server_metadata() const {
  return json_response({{"name", "mirrortrain"},
                        {"version", kVersion},
                        {"extensions", Json::array({"binary_tensor_data", "classification"})}});
}

HttpResponse ModelService::model_metadata() const {
  const ModelMetadata metadata = model_.metadata();
  const auto tensors = [](const std::vector<ModelMetadata::Tensor>& of) {
    Json list = Json::array();
    for (const auto& [name, datatype, shape] : of) {
      list.push_back({{"name", name}, {"datatype", datatype}, {"shape", shape}});
    }
    return list;
  };
  return json_response({{"name", metadata.name},
                        {"versions", Json::array({metadata.version})},
                        {"platform", metadata.platform},
                        {"inputs", tensors(metadata.inputs)},
                        {"outputs", tensors(metadata.outputs)}});
}

void ModelService::infer(const HttpRequest& request, const HttpReply& reply) {
  const Clock::time_point begin = Clock::now();
  const auto refuse = [&](int status, const std::string& why) {
    reply([response = refusal(status, why)] { return response; });
  };
  const auto work = [&] {
    ServedModel::Arriving arriving(model_.arriving());
    const bool is_compressed = coding_of(request) != ContentCoding::kIdentity;
    const std::string body = is_compressed ? inflated(request.body, most_body_) : std::string();
    InferenceRequest wanted = read_inference(is_compressed ? body : request.body, json_bytes_of(request));
    model_.infer(std::move(wanted), arriving, [this, begin, reply](ServedModel::Answer answer) {
      reply([this, begin, answer = std::move(answer)] { return response_to(answer, begin); });
    });
  };
  work_or_refuse(work, refuse);
}

HttpResponse ModelService::response_to(const ServedModel::Answer& answer, Clock::time_point begin) {
  HttpResponse response;
  const auto work = [&] {
    if (!answer.error.empty()) throw Refused(answer.error, 500);
    InferenceBody body = write_inference(answer.make());
    metrics_.add_answered(answer.examples, Clock::now() - begin);
    response = {200, body.json_bytes ? "application/octet-stream" : "application/json", std::move(body.bytes)};
    if (body.json_bytes) {
      response.headers.emplace_back("Inference-Header-Content-Length", std::to_string(*body.json_bytes));
    }
  };
  work_or_refuse(work, [&](int status, const std::string& why) { response = refusal(status, why); });
  return response;
}

}  // namespace mirrortrain
