// The HTTP server alone: requests in pieces, too large, too slow and too many, and its end.
#include "serve/http/http_server.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/http_client.h"

namespace mirrortrain::testing {
namespace {

/// Answers with what it was sent: at once, or when it is told to.
class Echo : public HttpService {
 public:
  bool refuses(const HttpRequest& head, HttpResponse& response) override {
    if (head.path != "/refused") return false;
    response = {403, "text/plain", "no"};
    return true;
  }
  void handle(HttpRequest request, HttpReply reply) override {
    ++handled;
    if (request.path != "/later") return reply(text_of(request));
    const std::lock_guard lock(mutex);
    later.emplace_back(std::move(reply), text_of(request));
  }
  HttpResponse refusal(int status, const std::string& why) override { return {status, "text/plain", why}; }

  void answer_all() {
    const std::lock_guard lock(mutex);
    for (auto& [reply, response] : later) reply(std::move(response));
    later.clear();
  }

  std::atomic<int> handled = 0;

 private:
  static std::function<HttpResponse()> text_of(const HttpRequest& request) {
    std::string text = request.method + " " + request.path + " " + request.body;
    if (const std::string* const header = request.header("x-own")) text += " " + *header;
    return [text] { return HttpResponse{200, "text/plain", text, {{"X-Answer", "yes"}}}; };
  }
  std::mutex mutex;
  std::vector<std::pair<HttpReply, std::function<HttpResponse()>>> later;
};

struct Served {
  explicit Served(HttpOptions options = {}) : server(at_any_port(std::move(options)), echo) {}
  static HttpOptions at_any_port(HttpOptions options) {
    options.port = 0;
    return options;
  }
  Echo echo;
  HttpServer server;
  HttpClient client() const { return HttpClient(server.port()); }
};

TEST_CASE("requests are answered one after another on a connection") {
  Served served;
  HttpClient client = served.client();
  CHECK(client.ask(get("/a%20b", "X-Own: 1\r\n")).body == "GET /a b  1");
  const HttpAnswer answer = client.ask(post("/c?d=e", "body"));
  CHECK(answer.status == 200);
  CHECK(answer.body == "POST /c body");
  CHECK(answer.header("X-Answer") == "yes");
  // Byte by byte, in chunks, and two at once.
  for (const char c : post("/slow", "xyz")) client.send(std::string_view(&c, 1));
  CHECK(client.answer().body == "POST /slow xyz");
  CHECK(client.ask("POST /e HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
            .body == "POST /e abcde");
  client.send(get("/1") + get("/2"));
  CHECK(client.answer().body == "GET /1 ");
  CHECK(client.answer().body == "GET /2 ");
}

TEST_CASE("answers may come later, from another thread") {
  Served served;
  std::vector<HttpClient> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(served.client());
    clients.back().send(post("/later", std::to_string(i)));
  }
  while (served.echo.handled < 50) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(served.client().ask(get("/now")).status == 200);  // nothing waits for them
  std::thread([&] { served.echo.answer_all(); }).join();
  for (int i = 0; i < 50; ++i)
    CHECK(clients[static_cast<std::size_t>(i)].answer().body == "POST /later " + std::to_string(i));
}

TEST_CASE("a body that is too large or refused is not kept, and its sender hears why") {
  HttpOptions options;
  options.most_body = 100000;
  Served served(options);
  const std::string fits(100000, 'x');
  CHECK(served.client().ask(post("/a", fits)).status == 200);
  HttpClient client = served.client();
  const HttpAnswer answer = client.ask(post("/a", fits + "x"));
  CHECK(answer.status == 413);
  CHECK(answer.body.starts_with("expected a body of at most 100000 bytes"));
  CHECK(client.ask(get("/next")).status == 200);
  CHECK(served.client().ask(post("/refused", fits)).status == 403);
  // Announced alone, or never announced.
  CHECK(served.client().ask("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999999\r\n\r\n").status == 413);
  CHECK(served.client()
            .ask("POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 100001\r\n\r\n")
            .status == 413);
  std::string chunks = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 101; ++i) chunks += "3e8\r\n" + std::string(1000, 'y') + "\r\n";
  CHECK(served.client().ask(chunks + "0\r\n\r\n").status == 413);
}

TEST_CASE("what is no HTTP ends its own connection alone") {
  Served served;
  HttpClient other = served.client();
  std::vector<HttpClient> clients;
  for (const std::string& text :
       {std::string("\0\0\0\0\r\n\r\n", 8), std::string("hello\r\n\r\n"), std::string("GET /\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\n\r\n"), "GET /" + std::string(100000, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nX: " + std::string(100000, 'a') + "\r\n\r\n",
        std::string("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -5\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    clients.push_back(served.client());
    clients.back().send(text);
    CHECK(other.ask(get("/still")).status == 200);
  }
  CHECK(served.echo.handled == 8);
}

TEST_CASE("a body that is announced in two ways is refused") {
  const Served served;
  for (const char* headers : {"Content-Length: 5\r\nContent-Length: 6\r\n",
                              "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n"}) {
    CHECK(served.client().ask(std::string("POST /a HTTP/1.1\r\nHost: h\r\n") + headers + "\r\nabcde").status == 400);
  }
  CHECK(served.client().ask(get("/%00..%2f")).body == "GET /%00..%2f ");
  CHECK(served.echo.handled == 1);
}

TEST_CASE("connections without a whole request end after a while, and never keep others out") {
  HttpOptions options;
  options.patience = std::chrono::seconds(1);
  Served served(options);
  HttpClient silent = served.client(), slow = served.client(), in_body = served.client();
  in_body.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  std::atomic<bool> ended = false;
  std::thread drips([&] {
    for (int i = 0; i < 60 && !slow.ends_within(100); ++i) slow.send("G");
    ended = true;
  });
  CHECK(served.client().ask(get("/a")).status == 200);
  CHECK(silent.ends_within(6000));
  CHECK(in_body.ends_within(6000));
  drips.join();
  CHECK(served.client().ask(get("/a")).status == 200);
  CHECK(served.echo.handled == 2);
}

TEST_CASE("drain answers what was sent whole") {
  Served served;
  std::vector<HttpClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(served.client());
    clients.back().send(post(i % 2 == 0 ? "/later" : "/now", std::to_string(i)));
  }
  HttpClient half = served.client();
  half.send("POST /never HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  std::thread answers([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    served.echo.answer_all();
  });
  served.server.drain(std::chrono::hours(24));  // ends once all are answered, not by its limit
  answers.join();
  CHECK(served.echo.handled == 20);
  for (HttpClient& client : clients) CHECK(client.answer().status == 200);
}

TEST_CASE("a port that is taken, and a host that is none, are errors") {
  Served served;
  Echo echo;
  HttpOptions options;
  options.port = served.server.port();
  CHECK_THROWS_WITH(HttpServer(options, echo), doctest::Contains("another program listens there"));
  options.host = "no.such.host.invalid";
  CHECK_THROWS_WITH(HttpServer(options, echo), doctest::Contains("--host no.such.host.invalid"));
}

}  // namespace
}  // namespace mirrortrain::testing
