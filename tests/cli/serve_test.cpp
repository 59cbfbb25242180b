// A server of a trained run: answers have the bits of `predict`, wrong requests are refused, and nothing that was sent
// is lost when it stops.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/served_program.h"
#include "serve/gzip.h"

namespace mirrortrain::testing {
namespace {

using Json = nlohmann::json;

std::string json_request(const std::vector<float>& numbers) {
  const Json json = {{"id", "a"},
                     {"inputs",
                      {{{"name", "input"},
                        {"datatype", "FP32"},
                        {"shape", {numbers.size() / kElements, 8, 8, 3}},
                        {"data", numbers}}}}};
  return post(kInfer, json_text(json));
}

TEST_CASE("answers have the bits of predict, whatever is asked together") {
  const TemporaryFolder folder;
  train(folder);
  const std::vector<float> all = examples(200);
  const std::string expected = predicted(folder, all), probabilities = predicted(folder, all, "--probabilities");
  for (const char* most : {"1", "5", "32", "128"}) {
    Server server(folder, "small", {"--max-batch", most});
    CHECK(binary_of(server.ask(binary_request(all))) == expected);  // split
    // 200 at once, of one example each.
    std::vector<HttpClient> clients;
    for (std::size_t i = 0; i < 200; ++i) {
      clients.push_back(server.client());
      clients.back().send(binary_request({all.begin() + static_cast<std::ptrdiff_t>(i * kElements),
                                          all.begin() + static_cast<std::ptrdiff_t>((i + 1) * kElements)}));
    }
    std::string found;
    for (HttpClient& client : clients) found += binary_of(client.answer());
    CHECK(found == expected);
    const Json json = parse_json<Json>(server.ask(json_request(all)).body);
    CHECK(json["id"] == "a");
    CHECK(json["model_version"] == "12");
    CHECK(bytes_of(json["outputs"][0]["data"].get<std::vector<float>>()) == expected);
    CHECK(json["outputs"][1]["name"] == "probabilities");
    CHECK(bytes_of(json["outputs"][1]["data"].get<std::vector<float>>()) == probabilities);
    const std::string metrics = server.ask(get("/metrics")).body;
    CHECK(metrics.find("mirrortrain_requests_total{model=\"small\"} 202\n") != metrics.npos);
    CHECK(metrics.find("mirrortrain_examples_total{model=\"small\"} 600\n") != metrics.npos);
    CHECK(metrics.find("mirrortrain_batch_examples_total{model=\"small\"} 600\n") != metrics.npos);
    CHECK(server.stop() == 0);
  }
}

TEST_CASE("compressed requests are answered as others are") {
  const TemporaryFolder folder;
  train(folder);
  const Server server(folder, "small");
  const std::string plain = binary_request(examples(3));
  const std::size_t body = plain.find("\r\n\r\n") + 4, json = plain.find("Inference-Header");
  for (const auto& [coding, window] : {std::pair("gzip", kGzipWindow), {"deflate", kZlibWindow}}) {
    const std::string request =
        post(kInfer, gzipped(plain.substr(body), window),
             fmt::format("Content-Encoding: {}\r\n{}", coding, plain.substr(json, body - 2 - json)));
    CHECK(binary_of(server.ask(request)) == predicted(folder, examples(3)));
  }
}

TEST_CASE("a server tells what it has") {
  const TemporaryFolder folder;
  train(folder);
  const Server server(folder, "small");
  CHECK(server.ask(get("/v2/health/live")).status == 200);
  CHECK(server.ask(get("/v2/health/ready")).status == 200);
  CHECK(server.ask(get("/v2/models/small/ready")).status == 200);
  CHECK(server.ask(get("/v2/models/small/versions/12/ready")).status == 200);
  CHECK(server.ask(get("/v2/models/small/versions/13/ready")).status == 404);
  const Json about = parse_json<Json>(server.ask(get("/v2")).body);
  CHECK(about["name"] == "mirrortrain");
  CHECK(about["extensions"] == Json::array({"binary_tensor_data", "classification"}));
  const Json model = parse_json<Json>(server.ask(get("/v2/models/small")).body);
  CHECK(model["versions"] == Json::array({"12"}));
  CHECK(model["inputs"] == parse_json<Json>(R"([{"name": "input", "datatype": "FP32", "shape": [-1, 8, 8, 3]}])"));
  CHECK(model["outputs"][0] == parse_json<Json>(R"({"name": "dense_1", "datatype": "FP32", "shape": [-1, 4]})"));
  const HttpAnswer page = server.ask(get("/"));
  CHECK(page.status == 200);
  CHECK(page.header("Content-Type").starts_with("text/html"));
  CHECK(page.header("Content-Security-Policy").find("default-src 'none'") == 0);
  const Json of_page = parse_json<Json>(server.ask(get("/page/model")).body);
  CHECK(of_page["inputs"][0]["kind"] == "pixels");
  CHECK(of_page["outputs"][1]["classes"] == Json::array({"0", "1", "2", "3"}));
}

TEST_CASE("the page lets one type numbers where an input is time steps and features, or a picture") {
  const TemporaryFolder folder;
  std::string config = kConfig;
  for (std::size_t at = 0; (at = config.find("[8, 8, 3]")) != std::string::npos;) config.replace(at, 9, "[5, 2]");
  write_file(folder / "sequences.yaml", "name: sequences\n" + config);
  const Outcome trained = run_program(folder, "fit sequences.yaml --quiet");
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
  const Server server(folder, "sequences");
  const Json of_page = parse_json<Json>(server.ask(get("/page/model")).body);
  CHECK(of_page["inputs"][0]["shape"] == Json::array({-1, 5, 2}));
  CHECK(of_page["inputs"][0]["kind"] == "numbers_or_pixels");
  CHECK(server.ask(get("/")).body.find("numbers_or_pixels: numberOrPixelInput") != std::string::npos);
}

TEST_CASE("wrong requests are refused, and counted") {
  const TemporaryFolder folder;
  train(folder);
  Server server(folder, "small", {"--max-body", "100KiB"});
  const auto infer = [](const std::string& rest) {
    return post(kInfer, R"({"inputs": [{"name": "input", "datatype": "FP32", )" + rest + "}]}");
  };
  struct Row {
    std::string request;
    int status;
    std::string reason;
  };
  const Row rows[] = {
      {get("/nothing"), 404, "there is nothing at /nothing; the model is at /v2/models/small"},
      {get("/v2/models/other"), 404, "the model here is 'small', version 12"},
      {get(kInfer), 405, "expected POST, found GET"},
      {post("/v2", "{}"), 405, "expected GET, found POST"},
      {post(kInfer, "no"), 400, "the body is no JSON: at byte 2: invalid literal"},
      {post(kInfer, "x", "Content-Encoding: br\r\n"), 415,
       "expected Content-Encoding: gzip, deflate or none, found br"},
      {post(kInfer, "not gzip", "Content-Encoding: gzip\r\n"), 400, "the compressed body is damaged"},
      {post(kInfer, gzipped(std::string(102401, ' ')), "Content-Encoding: gzip\r\n"), 413,
       "expected a body that has at most 102400 bytes when it is inflated"},
      {post(kInfer, "{}", "Inference-Header-Content-Length: x\r\n"), 400, "expected a number of bytes, found 'x'"},
      {post(kInfer, std::string(102401, ' ')), 413, "expected a body of at most 102400 bytes"},
      {infer(R"("shape": [1, 3], "data": [1, 2, 3])"), 400, "input 'input': one example has the shape [3]"},
      {infer(R"("shape": [1, 1], "data": [null])"), 400, "input 'input'"},
      {post(kInfer, R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]})"), 400,
       "there is no input 'x'; the inputs are 'input'"},
      {post(kInfer, R"({"inputs": [{"name": "input", "datatype": "BYTES", "shape": [1], "data": ["a"]}]})"), 400,
       "input 'input': expected numbers, found BYTES"},
      {infer(R"("shape": [1], "data": [1]}, {"name": "input", "datatype": "FP32", "shape": [1], "data": [1])"), 400,
       "input 'input' is given twice"},
      {post(
           kInfer,
           R"({"outputs": [{"name": "z"}], "inputs": [{"name": "input", "datatype": "FP32", "shape": [1], "data": [1]}]})"),
       400, "there is no output 'z'; the outputs are dense_1, probabilities"},
  };
  for (const Row& row : rows) {
    const HttpAnswer answer = server.ask(row.request);
    CHECK(answer.status == row.status);
    const std::string reason = parse_json<Json>(answer.body)["error"];
    CHECK_MESSAGE(reason.find(row.reason) != reason.npos, reason);
  }
  const std::string metrics = server.ask(get("/metrics")).body;
  for (const auto& [code, count] : {std::pair(400, 9), {404, 2}, {405, 2}, {413, 2}, {415, 1}}) {
    const std::string line =
        fmt::format("mirrortrain_refused_requests_total{{model=\"small\",code=\"{}\"}} {}\n", code, count);
    CHECK_MESSAGE(metrics.find(line) != metrics.npos, line);
  }
  CHECK(metrics.find("mirrortrain_requests_total{model=\"small\"} 0\n") != metrics.npos);
  CHECK(server.stop(SIGINT) == 0);
}

TEST_CASE("what was sent whole before SIGTERM is answered") {
  const TemporaryFolder folder;
  train(folder);
  const std::vector<float> one = examples(1);
  for (int round = 0; round < 3; ++round) {
    Server server(folder, "small");
    std::vector<HttpClient> clients;
    for (int i = 0; i < 100; ++i) {
      clients.push_back(server.client());
      clients.back().send(binary_request(one));
    }
    server.signal(SIGTERM);
    for (HttpClient& client : clients) CHECK(client.answer().status == 200);
    CHECK(server.stop(0) == 0);
  }
}

TEST_CASE("with a token file, only those who have a token are answered") {
  const TemporaryFolder folder;
  train(folder);
  write_file(folder / "tokens", "first\n\nsecond\n");
  const Server server(folder, "small", {"--token-file", "tokens"});
  for (const char* path : {"/v2", "/v2/models/small", "/metrics", "/page/model", "/nothing"}) {
    CHECK(server.ask(get(path)).status == 401);
    CHECK(server.ask(get(path, "Authorization: Bearer firs\r\n")).status == 401);
    CHECK(server.ask(get(path, "Authorization: Basic first\r\n")).status == 401);
    CHECK(server.ask(get(path, "Authorization: Bearer second\r\n")).status ==
          (path == std::string("/nothing") ? 404 : 200));
  }
  CHECK(server.ask(binary_request(examples(1))).status == 401);
  for (const char* path : {"/", "/v2/health/live", "/v2/health/ready"}) CHECK(server.ask(get(path)).status == 200);
  write_file(folder / "empty", "\n");
  CHECK(run_program(folder, "serve small --token-file empty").exit_code == 2);
}

TEST_CASE("with --watch, a run's newer weights are read") {
  const TemporaryFolder folder;
  train(folder);
  const std::vector<float> all = examples(3);
  const Server server(folder, "small", {"--watch"});
  const Server other(folder, "small");
  const std::string before = predicted(folder, all);
  CHECK(binary_of(server.ask(binary_request(all))) == before);
  const Outcome more = run_program(folder, "fit small.yaml --resume --set training.epochs=2 --quiet");
  REQUIRE_MESSAGE(more.exit_code == 0, more.err);
  const std::string after = predicted(folder, all);
  CHECK(after != before);
  std::string found;
  for (int i = 0; i < 100 && (found = binary_of(server.ask(binary_request(all)))) != after; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  CHECK(found == after);
  CHECK(parse_json<Json>(server.ask(get("/v2/models/small")).body)["versions"][0] == "24");
  CHECK(binary_of(other.ask(binary_request(all))) == before);
}

TEST_CASE("tables are asked by column, with the words and missing values of csv") {
  const TemporaryFolder folder;
  write_file(
      folder / "birds.csv",
      "length;place;weight;bird\n15.5;\"tree; \"\"old\"\"\";20;sparrow\n25;lawn;;blackbird\n14;feeder;18;sparrow\n"
      "26;lawn;95;blackbird\n15;feeder;21;sparrow\n24.5;lawn;90;blackbird\n");
  write_file(folder / "table.yaml", R"(name: table
data:
  global_batch_size: 2
  train:
    format: csv
    file: birds.csv
    labels: bird
    encoding: {place: one_hot}
    missing: {weight: mean}
model:
  input_shape: [5]
  layers: [{dense: {units: 2}}]
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.001}
training: {epochs: 1}
)");
  const Outcome trained = run_program(folder, "fit table.yaml --quiet");
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
  const Outcome outcome = run_program(folder, "predict table --data birds.csv -o y.npy --quiet");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::string file = read_text_file(folder / "y.npy");
  const Server server(folder, "table");
  const auto request = [](const std::string& place) {
    return post("/v2/models/table/infer", R"({"inputs": [
      {"name": "input", "datatype": "FP64", "shape": [2, 2], "data": [[15.5, 20], [25, null]]},
      {"name": "place", "datatype": "BYTES", "shape": [2, 1], "data": [")" +
                                              place + R"(", "lawn"]}]})");
  };
  const Json answer = parse_json<Json>(server.ask(request(R"(tree; \"old\")")).body);
  REQUIRE_MESSAGE(answer.contains("outputs"), json_text(answer));
  CHECK(bytes_of(answer["outputs"][0]["data"].get<std::vector<float>>()) == file.substr(file.size() - 48, 16));
  const HttpAnswer unknown = server.ask(request("roof"));
  CHECK(unknown.status == 400);
  const std::string reason = parse_json<Json>(unknown.body)["error"];
  CHECK_MESSAGE(
      reason.find("input 'place', example 0: the word 'roof' is none of the 3 in the training data") != reason.npos,
      reason);
  const std::string one = R"({"inputs": [{"name": "input", "datatype": "FP64", "shape": [1, 2], "data": [1, 2]}]})";
  CHECK(parse_json<Json>(server.ask(post("/v2/models/table/infer", one)).body)["error"] ==
        "the request has no input 'place'");
}

TEST_CASE("pixels of other channels than the model's pictures are refused before they are resized") {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directories(folder.path() / "pictures" / name);
    std::filesystem::copy_file(std::filesystem::path(MIRRORTRAIN_SOURCE_DIR) / "tests/pictures/rgb.png",
                               folder.path() / "pictures" / name / "1.png");
  }
  write_file(folder / "pictures.yaml", R"(name: pictures
data:
  global_batch_size: 2
  train: {format: image_folder, directory: pictures, image_size: [8, 8]}
model: {input_shape: [8, 8, 3], layers: [flatten, {dense: {units: 2}}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.001}
training: {epochs: 1}
)");
  const Outcome trained = run_program(folder, "fit pictures.yaml --quiet");
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
  const Server server(folder, "pictures");
  const auto answer = [&](const std::string& shape, std::size_t numbers) {
    std::string all = "1";
    for (std::size_t i = 1; i < numbers; ++i) all += ", 1";
    return server.ask(
        post("/v2/models/pictures/infer",
             fmt::format(R"({{"inputs": [{{"name": "input", "datatype": "UINT8", "shape": {}, "data": [{}]}}]}})",
                         shape, all)));
  };
  CHECK(answer("[1, 2, 2, 3]", 12).status == 200);
  for (const auto& [shape, numbers] : {std::pair("[1, 1, 1, 1000]", std::size_t{1000}), {"[1, 2, 2]", 4}}) {
    const HttpAnswer refused = answer(shape, numbers);
    CHECK(refused.status == 400);
    CHECK(parse_json<Json>(refused.body)["error"] ==
          fmt::format("input 'input': expected pixels of 3 channels, [examples, height, width, 3], found the shape {}",
                      shape));
  }
}

TEST_CASE("an empty cell of a table's only column is an example as others are") {
  const TemporaryFolder folder;
  write_file(folder / "one.csv", "v\n0.5\n1.5\n2.5\n0.1\n");
  write_file(folder / "one.yaml", R"(name: one
data:
  global_batch_size: 2
  train: {format: csv, file: one.csv, inputs: {v: [v]}, labels: {o: v}, missing: mean}
model:
  inputs: {v: {shape: [1]}}
  layers: [{dense: {units: 1, inputs: [v], name: o}}]
loss: {type: mean_squared_error}
optimizer: {type: sgd, learning_rate: 0.001}
training: {epochs: 1}
)");
  const Outcome trained = run_program(folder, "fit one.yaml --quiet");
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
  const Server server(folder, "one");
  const auto outputs = [&](const std::string& data, int rows) {
    const std::string body = fmt::format(
        R"({{"inputs": [{{"name": "v", "datatype": "FP32", "shape": [{}, 1], "data": [{}]}}]}})", rows, data);
    const Json answer = parse_json<Json>(server.ask(post("/v2/models/one/infer", body)).body);
    REQUIRE_MESSAGE(answer.contains("outputs"), json_text(answer));
    return answer["outputs"][0]["data"].get<std::vector<float>>();
  };
  const std::vector<float> known = outputs("0.5, 2.5", 2), mean = outputs("1.15", 1);
  CHECK(outputs("0.5, null, 2.5", 3) == std::vector<float>{known[0], mean[0], known[1]});
  CHECK(outputs("null, null", 2) == std::vector<float>{mean[0], mean[0]});
}

TEST_CASE("mistakes in the command line are reported before anything is served") {
  const TemporaryFolder folder;
  train(folder);
  struct Row {
    std::string arguments;
    int exit_code;
    std::string reason;
  };
  const Row rows[] = {{"serve nothing", 2, "nothing"},
                      {"serve small --max-body x", 2, "expected a size such as 64MiB, found 'x'"},
                      {"serve small --max-batch 0", 2, "--max-batch"},
                      {"serve small --port 70000", 2, "--port"},
                      {"serve small --token-file none", 1, "--token-file: cannot read none"},
                      {"serve small --port 8123 --grpc-port 8123", 2, "--grpc-port 8123: HTTP has this port"},
                      {"serve small --host 1.2.3.4 --port 0", 1, "it is no address of this machine"}};
  for (const Row& row : rows) {
    const Outcome outcome = run_program(folder, row.arguments);
    CHECK(outcome.exit_code == row.exit_code);
    CHECK_MESSAGE(outcome.err.find(row.reason) != outcome.err.npos, outcome.err);
  }
  CHECK(run_script(folder,
                   "timeout -s TERM 2 \"$MIRRORTRAIN\" serve small --host 0.0.0.0 --port 0 2>&1 >/dev/null | grep -c "
                   "'give --token-file'")
            .out == "1\n");
}

}  // namespace
}  // namespace mirrortrain::testing
