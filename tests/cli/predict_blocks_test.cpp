// `predict` of tables that are read block by block: from files, globs, stdin and pipes.
#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.h"

namespace mirrortrain::testing::predict_blocks_test {
namespace {

constexpr const char* kConfig = R"(
name: blocks
seed: 3
data:
  global_batch_size: 8
  train: {format: csv, file: train.csv, labels: kind, missing: mean, encoding: {color: one_hot}}
  preprocessing: [normalization: {adapt: true}]
model:
  input_shape: [3]
  layers:
    - dense: {units: 8, activation: relu}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.05}
training: {epochs: 2}
)";

std::string row_of(int i) {
  return fmt::format("{},{}\n", i % 5 == 3 ? "" : fmt::format("{}", 0.37 * (i + 1)), i % 2 == 0 ? "red" : "green");
}

struct Fixture {
  TemporaryFolder folder;
  Fixture() {
    write_file(folder / "blocks.yaml", kConfig);
    std::string train = "size,color,kind\n";
    for (int i = 0; i < 40; ++i) train += "1,red,\"apple, red\"\n9,green,melon\n,red,cherry\n";
    write_file(folder / "train.csv", train);
    REQUIRE(run("fit blocks.yaml --run-dir run --quiet").exit_code == 0);
  }
  Outcome run(const std::string& arguments) { return run_program(folder, arguments); }
  Outcome script(const std::string& text) { return run_script(folder, text); }
  std::string read(const std::string& file) { return read_text_file(folder / file); }
  void write_rows(const std::string& file, int first, int end) {
    std::string text = "size,color\n";
    for (int i = first; i < end; ++i) text += row_of(i);
    write_file(folder / file, text);
  }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE_FIXTURE(Fixture,
                  "predictions are the same bits from a file, several files, a glob, a pipe and rows of JSON") {
  constexpr int kRows = 3000;
  write_rows("all.csv", 0, kRows);
  fs::create_directory(folder / "parts");
  write_rows("parts/1.csv", 0, 1);
  write_rows("parts/2.csv", 1, 1100);
  write_rows("parts/3.csv", 1100, kRows);
  std::string json;
  for (int i = 0; i < kRows; ++i) {
    json += fmt::format("{{\"color\": \"{}\"{}}}\n", i % 2 == 0 ? "red" : "green",
                        i % 5 == 3 ? "" : fmt::format(", \"size\": {}", 0.37 * (i + 1)));
  }
  write_file(folder / "all.jsonl", json);
  const Outcome whole = run("predict run --data all.csv --probabilities");
  REQUIRE_MESSAGE(whole.exit_code == 0, whole.err);
  CHECK(contains(whole.out, "\n2999,"));
  for (const char* way : {
           "\"$MIRRORTRAIN\" predict run --probabilities --data parts/1.csv parts/2.csv parts/3.csv",
           "\"$MIRRORTRAIN\" predict --probabilities --data parts/1.csv --data parts/2.csv parts/3.csv -- run",
           "\"$MIRRORTRAIN\" predict run --probabilities --data 'parts/*.csv'",
           "cat all.csv | \"$MIRRORTRAIN\" predict run --probabilities --data -",
           "\"$MIRRORTRAIN\" predict run --probabilities --data - < all.csv",
           "{ head -n 7; sleep 0.1; head -n 1; sleep 0.1; cat; } < all.csv | \"$MIRRORTRAIN\" predict run "
           "--probabilities --data - --set 'strategy.devices=[cpu:0,cpu:1,cpu:2]'",
           "\"$MIRRORTRAIN\" predict run --probabilities --data all.jsonl",
           "cat all.jsonl | \"$MIRRORTRAIN\" predict run --probabilities --data -",
           "gzip -k all.csv && \"$MIRRORTRAIN\" predict run --probabilities --data all.csv.gz",
           "cat all.csv.gz | \"$MIRRORTRAIN\" predict run --probabilities --data -",
           "gzip -k all.jsonl && \"$MIRRORTRAIN\" predict run --probabilities --data all.jsonl.gz",
       }) {
    CAPTURE(way);
    const Outcome other = script(way);
    CHECK_MESSAGE(other.exit_code == 0, other.err);
    CHECK(other.out == whole.out);
  }
  for (const char* ending : {"npy", "npz"}) {
    REQUIRE(run(fmt::format("predict run --data all.csv -o file.{}", ending)).exit_code == 0);
    REQUIRE(script(fmt::format("cat all.csv | \"$MIRRORTRAIN\" predict run --data - -o pipe.{}", ending)).exit_code ==
            0);
    CHECK(read(fmt::format("file.{}", ending)) == read(fmt::format("pipe.{}", ending)));
  }
  CHECK(contains(read("pipe.npy"), "'shape': (3000, 3,)"));
  CHECK(script("mkfifo pipe2.npy; cat pipe2.npy > from_pipe.npy & \"$MIRRORTRAIN\" predict run --data all.csv -o "
               "pipe2.npy; wait")
            .exit_code == 0);
  CHECK(read("from_pipe.npy") == read("file.npy"));
}

TEST_CASE_FIXTURE(Fixture,
                  "predictions of a pipe's rows are written while it is open, of one that is stopped none remain") {
  const Outcome flowing = script(
      "mkfifo in; \"$MIRRORTRAIN\" predict run --data - < in > out.csv & pid=$!\n"
      "exec 3> in; printf 'size,color\\n1,red\\n' >&3\n"
      "for i in $(seq 500); do grep -q '^0,' out.csv && break; sleep 0.02; done; cat out.csv; echo then\n"
      "printf '9,green\\n2,r' >&3\n"
      "for i in $(seq 500); do grep -q '^1,' out.csv && break; sleep 0.02; done; cat out.csv\n"
      "printf 'ed' >&3; exec 3>&-; wait $pid; echo $?; cat out.csv");
  const std::string head = "index,prediction,name\n", first = head + "0,", second = "\n1,";
  CAPTURE(flowing.out);
  const std::size_t then = flowing.out.find("then\n"), end = flowing.out.find("\n0\n" + head);
  REQUIRE(then != std::string::npos);
  REQUIRE(end != std::string::npos);
  CHECK(flowing.out.starts_with(first));
  CHECK_FALSE(contains(flowing.out.substr(0, then), second));
  CHECK(contains(flowing.out.substr(then, end - then), second));
  CHECK(contains(flowing.out.substr(end), "\n2,"));
  for (const std::string signal : {"TERM", "INT"}) {
    const Outcome stopped = script(
        fmt::format("rm -f in; mkfifo in; setsid \"$MIRRORTRAIN\" predict run --data - -o out.csv < in & pid=$!\n"
                    "exec 3> in; printf 'size,color\\n1,red\\n' >&3; rm -f out.csv\n"
                    "while ! {}; do kill -0 $pid || exit 99; sleep 0.005; done\n"
                    "kill -{} $pid; wait $pid",
                    is_writing("out.csv"), signal));
    CHECK(stopped.exit_code == (signal == "TERM" ? 143 : 130));
    CHECK_MESSAGE(contains(stopped.err, "stopped by a signal; out.csv is not written"), stopped.err);
    CHECK_FALSE(fs::exists(folder / "out.csv"));
  }
}

TEST_CASE_FIXTURE(Fixture, "what is said of a table's data is said once, of all of it") {
  std::string table = "id,size,color,kind\n";
  for (int i = 0; i < 2500; ++i) {
    table += fmt::format("n{},{},{},{}\n", i, i % 1000 == 999 ? "none" : std::to_string(i), i == 2000 ? "blue" : "red",
                         i % 2 == 0 ? "melon" : "");
  }
  write_file(folder / "new.csv", table);
  const Outcome refused = run("predict run --data new.csv -o out.csv");
  CHECK(refused.exit_code == 1);
  CHECK_MESSAGE(contains(refused.err, "new.csv:1001: row 999 (counting from 0), column 1 ('size')"), refused.err);
  CHECK_FALSE(fs::exists(folder / "out.csv"));
  for (const char* from : {"--data new.csv", "--data - < new.csv"}) {
    const Outcome skipped =
        run(fmt::format("predict run --set data.on_bad_example=skip --keep id --labels -o out.csv {}", from));
    CHECK_MESSAGE(skipped.exit_code == 0, skipped.err);
    CHECK_MESSAGE(contains(skipped.err, "warning: 3 of 2500 examples in "), skipped.err);
    CHECK(contains(skipped.err, ":1001: row 999 (counting from 0), column 1 ('size')"));
    CHECK(contains(skipped.err, ":2002: row 2000 (counting from 0), column 1 ('color')"));
    const std::size_t once = skipped.err.find("the training data has no column 'id', which is passed over");
    CHECK(once != std::string::npos);
    CHECK(skipped.err.find("no column 'id'", once + 100) == std::string::npos);
    CHECK(contains(skipped.err, "2497 predictions"));
    const std::string out = read("out.csv");
    CHECK(contains(out, "\n998,"));
    CHECK_FALSE(contains(out, "\n999,"));
    CHECK(contains(out, ",n2498,melon\n"));
    CHECK(out.ends_with(",n2499,\n"));
  }
}

TEST_CASE_FIXTURE(Fixture, "what is no row of JSON, no file or no match is refused with its place") {
  write_file(folder / "a.jsonl",
             "{\"size\": 1, \"color\": \"red\", \"id\": 7}\n{\"size\": \"1\", \"color\": \"red\"}\n");
  const auto refused = [&](const std::string& arguments, int exit_code, const std::string& reason) {
    const Outcome outcome = run("predict run " + arguments);
    CHECK(outcome.exit_code == exit_code);
    CHECK_MESSAGE(contains(outcome.err, reason), outcome.err);
  };
  refused("--data a.jsonl", 1,
          "a.jsonl:1: row 0 (counting from 0): unknown key 'id'; the columns are size, color, kind");
  refused("--data a.jsonl --keep id", 1,
          "a.jsonl:2: row 1 (counting from 0), key 'size': expected a number, found the text '1'");
  refused("--data a.jsonl --keep other", 1, "there is no key 'other' to keep");
  refused("--data - < /dev/null", 1, "stdin: expected one example per line, found an empty file");
  refused("--data 'none/*.csv'", 1, "--data none/*.csv: no file matches this glob; check the folder and the pattern");
  refused("--data train.csv none.csv", 1, "--data none.csv: there is no such file or folder; check the path");
  refused("--data train.csv a.jsonl", 2, "--data: train.csv and a.jsonl have different formats; name files of one");
  refused("--data train.csv -", 2, "--data -: stdin is read alone");
}

/// The largest memory, in KiB, of the program with these arguments.
long peak_memory(const fs::path& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MIRRORTRAIN_EXECUTABLE);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, MIRRORTRAIN_EXECUTABLE, nullptr, nullptr, pointers.data(), environ);
  fs::current_path(before);
  REQUIRE(failed == 0);
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  CHECK(status == 0);
  return usage.ru_maxrss;
}

TEST_CASE_FIXTURE(Fixture, "what is kept of rows of JSON stays JSON in rows of JSON, and is text in CSV") {
  write_file(folder / "a.json",
             "{\"size\": 1, \"color\": \"red\", \"id\": 7, \"note\": null, \"tags\": [1, \"x\"]}\n"
             "{\"size\": 2.5, \"color\": \"green\", \"id\": \"7\", \"note\": \"a\"}\n");
  REQUIRE(run("predict run --data a.json --keep id,note,tags --output p.jsonl").exit_code == 0);
  const std::string kept = read("p.jsonl");
  CHECK(contains(kept, "\"id\": 7, \"note\": null, \"tags\": [1, \"x\"]"));
  CHECK(contains(kept, "\"id\": \"7\", \"note\": \"a\", \"tags\": null"));
  REQUIRE(run("predict run --data a.json --keep id,note,tags --output p.csv").exit_code == 0);
  CHECK(contains(read("p.csv"), ",7,,\"[1,"));
  write_file(folder / "list.json", "[{\"size\": 1, \"color\": \"red\"}]\n");
  const Outcome list = run("predict run --data list.json");
  CHECK(list.exit_code == 1);
  CHECK(contains(list.err, "found a list; jq -c '.[]?' "));
}

TEST_CASE("pictures for a run on arrays of one channel are gray, and others are refused with both shapes") {
  const TemporaryFolder folder;
  const auto write_idx = [&](const char* name, std::string extents, std::size_t elements) {
    const std::string magic{0, 0, 8, static_cast<char>(extents.size() / 4)};  // of bytes
    std::string numbers;
    for (std::size_t i = 0; i < elements; ++i) numbers += static_cast<char>(i % 2);
    write_file(folder / name, magic + extents + numbers);
  };
  write_idx("images", {0, 0, 0, 4, 0, 0, 0, 13, 0, 0, 0, 18}, 4 * 13 * 18);
  write_idx("labels", {0, 0, 0, 4}, 4);
  for (const bool fits : {true, false}) {
    write_file(folder / "c.yaml", fmt::format(R"(name: c
data: {{global_batch_size: 4, train: {{format: idx, images: images, labels: labels}}}}
model: {{input_shape: [13, 18], layers: [flatten, {{dense: {{units: 2}}}}]}}
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: {{type: sgd}}
training: {{steps: 1}}
)"));
    const std::string run = fits ? "fits" : "other";
    if (!fits) {
      write_idx("images", {0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2}, 4 * 3 * 2);
      write_file(folder / "c.yaml", replaced(read_text_file(folder / "c.yaml"), "[13, 18]", "[3, 2]"));
    }
    REQUIRE(run_program(folder, fmt::format("fit c.yaml --run-dir {} --quiet", run)).exit_code == 0);
    for (const char* const picture : {"gray.png", "rgb.png"}) {
      const Outcome outcome = run_program(
          folder, fmt::format("predict {} --data {}/tests/pictures/{}", run, MIRRORTRAIN_SOURCE_DIR, picture));
      CHECK_MESSAGE(outcome.exit_code == (fits ? 0 : 2), outcome.err);
      if (fits) continue;
      CHECK_MESSAGE(contains(outcome.err,
                             "this is a picture of the shape [13, 18, 1], and the run's data are idx, "
                             "with examples of [3, 2]"),
                    outcome.err);
    }
  }
  write_file(folder / "a.zip", "PK");
  CHECK(contains(run_program(folder, "predict fits --data a.zip").err, ".zip archives are not read; unpack it"));
}

TEST_CASE_FIXTURE(Fixture, "a header in other letters is no example") {
  write_file(folder / "a.csv", "Size,COLOR\n1,red\n");
  const Outcome outcome = run("predict run --data a.csv");
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.err, "(Size, COLOR) has the names of the columns in other letters: they are size, color"));
}

TEST_CASE_FIXTURE(Fixture, "memory does not grow with the number of rows") {
  const std::string wide(200, 'x');
  for (const int rows : {1000, 150000}) {
    std::string text = "size,color,kind\n";
    for (int i = 0; i < rows; ++i) text += fmt::format("{},red,{}\n", i % 50, wide);
    write_file(folder / fmt::format("{}.csv", rows), text);
  }
  for (const char* output : {"out.csv", "out.npy"}) {
    const auto peak = [&](const std::string& table) {
      return peak_memory(folder.path(), {"predict", "run", "--quiet", "--data", table, "-o", output, "--set",
                                         "strategy.devices=[cpu:0]"});
    };
    const long few = peak("1000.csv"), many = peak("150000.csv");
    CHECK_MESSAGE(many < few + 6 * 1024, few << " and " << many << " KiB");  // the file has 32 MiB
  }
}

}  // namespace
}  // namespace mirrortrain::testing::predict_blocks_test
