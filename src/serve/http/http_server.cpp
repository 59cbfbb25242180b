#include "serve/http/http_server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/open_files_limit.h"
#include "base/utf8.h"
#include "serve/http/connections.h"
#include "serve/http/listening_socket.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;

/// Bodies that are being received have so many times the memory of the largest, together.
constexpr std::size_t kBodiesTogether = 4;
/// Of a request that is refused, the rest of the body is received and forgotten, so that the client reads the answer
/// rather than an error of its connection; but not of one that is so many times too large.
constexpr std::size_t kMostForgotten = 16;
/// When the server ends, answers have so long to be read.
constexpr std::chrono::seconds kMostSending{5};
constexpr std::size_t kHeaderBytes = std::size_t{32} << 10;
constexpr int kMostConnections = 16384;

void log_of_library(void*, const char* format, va_list arguments) {
  char line[512];
  std::vsnprintf(line, sizeof line, format, arguments);
  spdlog::debug("http: {}", std::string_view(line, std::strcspn(line, "\n")));
}

HttpRequest head_of(MHD_Connection* connection, const char* url, const char* method) {
  HttpRequest head{method, url};
  const auto add = [](void* to, MHD_ValueKind, const char* key, const char* value) {
    static_cast<HttpRequest*>(to)->headers.emplace_back(in_lower_case(key), value == nullptr ? "" : value);
    return MHD_YES;
  };
  MHD_get_connection_values(connection, MHD_HEADER_KIND, add, &head);
  return head;
}

std::size_t announced_length(const HttpRequest& head) {
  const std::string* const text = head.header("content-length");
  std::size_t length = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), length);
  return length;
}

/// What is wrong with how a head announces its body, so that a proxy in front may understand it in another way; "" if
/// nothing is.
std::string framing_fault(const HttpRequest& head) {
  const auto count = [&](std::string_view name) {
    return std::ranges::count(head.headers, name, [](const auto& header) -> std::string_view { return header.first; });
  };
  const std::string* const encoding = head.header("transfer-encoding");
  if (count("content-length") > 1) return "expected one Content-Length, found several";
  if (encoding != nullptr && count("content-length") > 0)
    return "expected Content-Length or Transfer-Encoding, found both";
  if (encoding != nullptr && in_lower_case(*encoding) != "chunked") {
    return "expected Transfer-Encoding: chunked, found another";
  }
  return "";
}

/// Decodes a path in place, but for one with %00, whose rest would be lost.
std::size_t decode_path(void*, MHD_Connection*, char* path) {
  return std::strstr(path, "%00") == nullptr ? MHD_http_unescape(path) : std::strlen(path);
}

/// The most connections for which there are descriptors, of which the process may then have as many as it ever may.
int most_connections() {
  const std::uint64_t allowed = std::min<std::uint64_t>(allow_open_files(kMostConnections + 1024), 1 << 20);
  const auto free = static_cast<std::int64_t>(allowed) - 128;
  return static_cast<int>(std::clamp<std::int64_t>(free, 16, kMostConnections));
}

}  // namespace

/// A request and its answer, from its head's arrival until the answer is sent or the connection ends.
struct HttpExchange {
  enum class State { kReceiving, kHandling, kSuspended, kAnswered };
  HttpRequest request;
  std::optional<HttpResponse> refusal{};  ///< the response, whatever else arrives
  std::size_t received = 0;               ///< bytes of the body
  MHD_Connection* connection = nullptr;
  bool is_sent = false;  ///< whether sending the answer has begun

  std::mutex mutex{};  ///< for what follows
  State state = State::kReceiving;
  std::function<HttpResponse()> response{};
};

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, HttpService& service)
      : options_(options), service_(service), socket_(options.host, options.port), connections_(most_connections()) {
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
    const auto threads = static_cast<unsigned>(std::max(options.threads, 2));
    daemon_ = MHD_start_daemon(
        flags, 0, nullptr, nullptr, &Impl::on_request, this, MHD_OPTION_EXTERNAL_LOGGER, log_of_library, nullptr,
        MHD_OPTION_LISTEN_SOCKET, socket_.get(), MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(connections_.most()), MHD_OPTION_CONNECTION_MEMORY_LIMIT, kHeaderBytes,
        MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(options.patience.count()), MHD_OPTION_NOTIFY_CONNECTION,
        &Impl::on_connection, this, MHD_OPTION_NOTIFY_COMPLETED, &Impl::on_completed, this,
        MHD_OPTION_UNESCAPE_CALLBACK, decode_path, nullptr, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (daemon_ == nullptr) {
      throw Error(
          fmt::format("cannot start the server's threads: {}; raise the limits of processes (ulimit -u) and of "
                      "memory (ulimit -v)",
                      std::strerror(errno)));
    }
    watch_ = std::thread([this] { watch(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(end_mutex_);
      ends_ = true;
    }
    end_.notify_all();
    watch_.join();
    if (!drains_) MHD_quiesce_daemon(daemon_);  // which leaves the socket to its owner
    MHD_stop_daemon(daemon_);
  }

  int port() const { return socket_.port(); }

  void drain(std::chrono::seconds limit) {
    drains_ = true;
    const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
    const Clock::time_point begin = Clock::now(), end = begin + limit;
    // Connections that were made but not accepted yet may have sent their requests.
    while (socket_.has_waiting() && Clock::now() < begin + std::chrono::seconds(1)) wait();
    MHD_quiesce_daemon(daemon_);
    Clock::time_point last_computed = Clock::now();
    for (int quiet = 0; quiet < 10 && Clock::now() < end; wait()) {
      const std::int64_t before = received_.exchange(0);
      if (unanswered_ > being_sent_) last_computed = Clock::now();
      if (Clock::now() - last_computed > kMostSending) break;  // who does not read its answer keeps nobody waiting
      quiet = before == 0 && unanswered_ == 0 && !connections_.have_unread() ? quiet + 1 : 0;
    }
  }

 private:
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                               const char* /*version*/, const char* data, std::size_t* bytes, void** own) {
    try {
      return static_cast<Impl*>(self)->receive(connection, url, method, {data, *bytes}, *bytes, *own);
    } catch (const std::exception& error) {  // memory ran out: this connection ends
      spdlog::warn("http: a connection was closed: {}", error.what());
      return MHD_NO;
    }
  }

  MHD_Result receive(MHD_Connection* connection, const char* url, const char* method, std::string_view data,
                     std::size_t& left, void*& own) {
    if (own == nullptr) {
      auto exchange = std::make_unique<HttpExchange>();
      exchange->connection = connection;
      exchange->request = head_of(connection, url, method);
      own = exchange.get();
      return begin(*exchange.release());
    }
    HttpExchange& exchange = *static_cast<HttpExchange*>(own);
    if (left > 0) {
      take(exchange, data);
      left = 0;
      return MHD_YES;
    }
    {
      const std::lock_guard lock(exchange.mutex);
      if (exchange.state == HttpExchange::State::kAnswered)
        return respond(exchange, std::exchange(exchange.response, nullptr)());
    }
    return handle(exchange);
  }

  /// The head has arrived.
  MHD_Result begin(HttpExchange& exchange) {
    const HttpRequest& head = exchange.request;
    const std::size_t length = announced_length(head);
    HttpResponse response;
    if (const std::string fault = framing_fault(head); !fault.empty()) {
      exchange.refusal = service_.refusal(400, fault);
      return refuse(exchange);
    }
    if (service_.refuses(head, response)) {
      exchange.refusal = std::move(response);
    } else if (length > options_.most_body) {
      exchange.refusal = too_large();
    }
    if (!exchange.refusal) return MHD_YES;
    const bool waits = head.header("expect") != nullptr;  // to hear whether the body is wanted
    if (!waits && length / kMostForgotten <= options_.most_body) return MHD_YES;
    return refuse(exchange);
  }

  HttpResponse too_large() {
    return service_.refusal(
        413, fmt::format("expected a body of at most {} bytes, as the server's --max-body says; send fewer examples at "
                         "once, or binary data",
                         options_.most_body));
  }

  void take(HttpExchange& exchange, std::string_view data) {
    received_ += static_cast<std::int64_t>(data.size());
    exchange.received += data.size();
    if (exchange.refusal) return;
    if (exchange.received > options_.most_body) {
      exchange.refusal = too_large();
    } else if (bodies_ + data.size() > kBodiesTogether * options_.most_body) {
      exchange.refusal = service_.refusal(503, "too many requests are being received; send this one again later");
    }
    if (exchange.refusal) return forget_body(exchange);
    exchange.request.body.append(data);
    bodies_ += data.size();
  }

  void forget_body(HttpExchange& exchange) {
    bodies_ -= exchange.request.body.size();
    exchange.request.body = {};
  }

  MHD_Result refuse(HttpExchange& exchange) {
    begin_answer(exchange);
    exchange.state = HttpExchange::State::kAnswered;
    return respond(exchange, *std::move(exchange.refusal));
  }

  /// The request is whole.
  MHD_Result handle(HttpExchange& exchange) {
    if (exchange.refusal) return refuse(exchange);
    begin_answer(exchange);
    exchange.state = HttpExchange::State::kHandling;
    bodies_ -= exchange.request.body.size();  // which is the service's from now on
    service_.handle(std::move(exchange.request), [&exchange](std::function<HttpResponse()> response) {
      MHD_Connection* const connection = exchange.connection;
      bool is_suspended = false;
      {
        const std::lock_guard lock(exchange.mutex);
        exchange.response = std::move(response);
        is_suspended = std::exchange(exchange.state, HttpExchange::State::kAnswered) == HttpExchange::State::kSuspended;
      }
      // Last: from here on the exchange may end at any time.
      if (is_suspended) MHD_resume_connection(connection);
    });
    exchange.request.body = {};
    const std::lock_guard lock(exchange.mutex);
    if (exchange.state == HttpExchange::State::kAnswered)
      return respond(exchange, std::exchange(exchange.response, nullptr)());
    exchange.state = HttpExchange::State::kSuspended;
    MHD_suspend_connection(exchange.connection);
    return MHD_YES;
  }

  void begin_answer(HttpExchange& exchange) {
    ++unanswered_;
    if (const auto* const entry = entry_of(exchange.connection)) connections_.set_busy(*entry);
  }

  MHD_Result respond(HttpExchange& exchange, HttpResponse response) {
    auto text = std::make_unique<std::string>(std::move(response.body));
    MHD_Response* const made = MHD_create_response_from_buffer_with_free_callback_cls(
        text->size(), text->data(), [](void* held) { delete static_cast<std::string*>(held); }, text.get());
    if (made == nullptr) return MHD_NO;
    text.release();
    MHD_add_response_header(made, MHD_HTTP_HEADER_CONTENT_TYPE, response.type.c_str());
    for (const auto& [key, value] : response.headers) MHD_add_response_header(made, key.c_str(), value.c_str());
    if (drains_) MHD_add_response_header(made, MHD_HTTP_HEADER_CONNECTION, "close");
    ++being_sent_;
    exchange.is_sent = true;
    const MHD_Result result = MHD_queue_response(exchange.connection, static_cast<unsigned>(response.status), made);
    MHD_destroy_response(made);
    return result;
  }

  static void on_completed(void* self, MHD_Connection* connection, void** own, MHD_RequestTerminationCode) {
    auto& server = *static_cast<Impl*>(self);
    const std::unique_ptr<HttpExchange> exchange(static_cast<HttpExchange*>(std::exchange(*own, nullptr)));
    if (!exchange) return;
    server.bodies_ -= exchange->request.body.size();
    if (exchange->state == HttpExchange::State::kReceiving) return;
    --server.unanswered_;
    if (exchange->is_sent) --server.being_sent_;
    if (const auto* const entry = entry_of(connection)) server.connections_.set_waiting(*entry);
  }

  /// Null if there was no memory for one.
  static const Connections::Entry* entry_of(MHD_Connection* connection) {
    const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return static_cast<const Connections::Entry*>(info->socket_context);
  }

  static void on_connection(void* self, MHD_Connection* connection, void** own, MHD_ConnectionNotificationCode code) {
    auto& server = *static_cast<Impl*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      const int socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
      try {
        auto entry = std::make_unique<Connections::Entry>();
        *entry = server.connections_.add(socket);
        *own = entry.release();
      } catch (const std::bad_alloc&) {
        ::shutdown(socket, SHUT_RDWR);
      }
    } else if (const std::unique_ptr<Connections::Entry> entry(static_cast<Connections::Entry*>(*own)); entry) {
      server.connections_.remove(*entry);
      *own = nullptr;
    }
  }

  void watch() {
    std::unique_lock lock(end_mutex_);
    // The library closes silent connections; half as long again, slow ones.
    const auto patience = options_.patience + options_.patience / 2;
    while (!end_.wait_for(lock, std::chrono::milliseconds(500), [&] { return ends_; })) {
      connections_.close_waiting_since(Clock::now() - patience);
    }
  }

  HttpOptions options_;
  HttpService& service_;
  ListeningSocket socket_;
  Connections connections_;
  std::atomic<std::size_t> bodies_ = 0;               ///< bytes of bodies that are held
  std::atomic<std::int64_t> received_ = 0;            ///< bytes of bodies, since `drain` last asked
  std::atomic<int> unanswered_ = 0, being_sent_ = 0;  ///< requests; those of them whose answers are being sent
  std::atomic<bool> drains_ = false;
  MHD_Daemon* daemon_ = nullptr;

  std::mutex end_mutex_;
  std::condition_variable end_;
  bool ends_ = false;
  std::thread watch_;
};

std::string why_no_http() { return ""; }

HttpServer::HttpServer(const HttpOptions& options, HttpService& service)
    : impl_(std::make_unique<Impl>(options, service)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return impl_->port(); }
void HttpServer::drain(std::chrono::seconds limit) { impl_->drain(limit); }

}  // namespace mirrortrain
