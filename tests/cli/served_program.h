#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"
#include "cli/small_classifier.h"
#include "serve/http_client.h"

extern char** environ;

namespace mirrortrain::testing {

/// `serve` as a process of its own.
class Server {
 public:
  Server(const TemporaryFolder& folder, const std::string& run, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words{MIRRORTRAIN_EXECUTABLE, "serve", run, "--port", "0"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const std::string log = (folder / "serve.log").string();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder.path().c_str());
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(::posix_spawn(&process_, MIRRORTRAIN_EXECUTABLE, &actions, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    const auto next_line = [&] {
      std::string line;
      for (char c = 0; ::read(ends[0], &c, 1) == 1 && c != '\n';) line += c;
      return line;
    };
    address_ = next_line();
    if (std::ranges::find(options, "--grpc-port") != options.end()) grpc_ = next_line();
    ::close(ends[0]);
    REQUIRE_MESSAGE(address_.starts_with("http://127.0.0.1:"), read_text_file(log));
    port_ = std::stoi(address_.substr(address_.rfind(':') + 1));
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    if (process_ > 0) stop(SIGKILL);
  }

  /// "127.0.0.1:4711"
  std::string grpc_address() const { return grpc_.substr(std::string("grpc://").size()); }
  HttpClient client() const { return HttpClient(port_); }
  HttpAnswer ask(const std::string& request) const { return client().ask(request); }
  void signal(int number) const { ::kill(process_, number); }
  /// The exit status.
  int stop(int number = SIGTERM) {
    signal(number);
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_ = 0;
  int port_ = 0;
  std::string address_, grpc_;
};

/// A run of the small classifier, called "small".
inline void train(const TemporaryFolder& folder, const std::string& more = "") {
  write_file(folder / "small.yaml", std::string("name: small\n") + kConfig + more);
  const Outcome trained = run_program(folder, "fit small.yaml --quiet");
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
}

inline constexpr std::size_t kElements = 8 * 8 * 3, kClasses = 4;
inline const std::string kInfer = "/v2/models/small/infer";

inline std::vector<float> examples(std::size_t rows) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < rows * kElements; ++i) numbers.push_back(static_cast<float>((i * 7919) % 1000) / 500 - 1);
  return numbers;
}

inline std::string bytes_of(const std::vector<float>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

/// A request with binary data both ways.
inline std::string binary_request(const std::vector<float>& numbers, const std::string& path = kInfer) {
  const std::string data = bytes_of(numbers);
  const std::string json = fmt::format(
      R"({{"inputs": [{{"name": "input", "datatype": "FP32", "shape": [{}, 8, 8, 3], "parameters": {{"binary_data_size": {}}}}}],)"
      R"("outputs": [{{"name": "dense_1", "parameters": {{"binary_data": true}}}}]}})",
      numbers.size() / kElements, data.size());
  return post(path, json + data, fmt::format("Inference-Header-Content-Length: {}\r\n", json.size()));
}

/// The bytes behind the answer's JSON.
inline std::string binary_of(const HttpAnswer& answer) {
  return answer.body.substr(
      static_cast<std::size_t>(std::atoi(answer.header("Inference-Header-Content-Length").c_str())));
}

inline void write_npy(const fs::path& file, const std::vector<float>& numbers) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 8, 8, 3), }}", numbers.size() / kElements);
  header.append(118 - header.size() - 1, ' ');
  header += '\n';
  write_file(file, std::string("\x93NUMPY\x01\0\x76\0", 10) + header + bytes_of(numbers));
}

/// The bytes that `predict` writes.
inline std::string predicted(const TemporaryFolder& folder, const std::vector<float>& numbers,
                             const std::string& options = "") {
  write_npy(folder / "x.npy", numbers);
  const Outcome outcome = run_program(folder, "predict small --data x.npy -o y.npy --quiet " + options);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::string file = read_text_file(folder / "y.npy");
  return file.substr(file.size() - numbers.size() / kElements * kClasses * sizeof(float));
}

}  // namespace mirrortrain::testing
