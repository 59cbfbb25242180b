// `generate`: texts continued by models that predict the next byte.
#include <doctest/doctest.h>

#include "cli/program.h"

namespace mirrortrain::testing::generate_test {
namespace {

constexpr const char* kPhrase = "hello world, ";

constexpr const char* kConfig = R"(
name: phrase
seed: 1
data:
  global_batch_size: 16
  train: {format: text, files: phrase.txt, window: 16}
model:
  input_shape: [16]
  layers:
    - embedding: {input_dim: 256, output_dim: 16}
    - LAYERS
    - dense: {units: 256}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.03}
strategy: {devices: [cpu:0]}
training: {epochs: 40}
)";

std::string config_with(const std::string& layer) {
  std::string text = kConfig;
  return text.replace(text.find("LAYERS"), 6, layer);
}

std::string phrases(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += kPhrase;
  return text;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A folder with the run `lstm`, trained once.
const TemporaryFolder& trained() {
  static const TemporaryFolder folder;
  static const bool is_trained = [] {
    write_file(folder / "phrase.txt", phrases(200));
    write_file(folder / "lstm.yaml", config_with("lstm: {units: 32, return_sequences: true}"));
    const Outcome outcome = run_program(folder, "fit lstm.yaml --run-dir lstm");
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return true;
  }();
  CHECK(is_trained);
  return folder;
}

Outcome generate(const std::string& arguments) { return run_program(trained(), "generate " + arguments); }

TEST_CASE("temperature 0 continues a text as it was learnt, beyond the window too") {
  const Outcome outcome = generate("lstm --prompt hell --tokens 60 --temperature 0");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out == phrases(6).substr(4, 60));
  CHECK(generate("lstm --prompt='o world, hello world, hello wo' --tokens 9 --temperature 0").out == "rld, hell");
  CHECK(run_script(trained(),
                   "printf 'hello wor' | \"$MIRRORTRAIN\" generate lstm --prompt - --tokens 4 "
                   "--temperature 0")
            .out == "ld, ");
}

TEST_CASE("numbers are decimal, whatever they begin with") {
  for (const char* const tokens : {"10", "010", "+10"}) {
    CAPTURE(tokens);
    const Outcome outcome = generate(fmt::format("lstm --prompt hell --tokens {} --temperature 0", tokens));
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.out == phrases(2).substr(4, 10));
  }
}

TEST_CASE("a seed gives the same bytes on any number of replicas and in any number of calls") {
  const std::string drawn = "lstm --prompt he --temperature 3 --seed 7 --tokens ";
  const std::string text = generate(drawn + "40").out;
  CHECK(text.size() == 40);
  CHECK(text != phrases(4).substr(2, 40));
  CHECK(generate(drawn + "40").out == text);
  CHECK(generate(drawn + "40 --set strategy.devices=[cpu:0,cpu:1]").out == text);
  CHECK(generate(drawn + "40 --set 'strategy={devices: all, replicas: 4}'").out == text);
  CHECK(generate("lstm --prompt he --temperature 3 --seed 8 --tokens 40").out != text);
  CHECK(generate("lstm --prompt he --temperature 3 --tokens 40").out ==
        generate("lstm --prompt he --temperature 3 --tokens 40 --seed 0").out);
  // What was written so far is a prompt.
  write_file(trained() / "begun.txt", "he" + text.substr(0, 25));
  CHECK(run_script(trained(),
                   "\"$MIRRORTRAIN\" generate lstm --prompt - --temperature 3 --seed 7 --tokens 15 "
                   "< begun.txt")
            .out == text.substr(25));
  CHECK(generate("lstm --prompt hell --tokens 30 --temperature 3 --top-k 1").out == phrases(4).substr(4, 30));
}

TEST_CASE("outputs that are probabilities give the text that their logits give") {
  const std::string drawn = "lstm --prompt he --tokens 30 --temperature 2 --seed 3";
  const Outcome outcome =
      generate(drawn + " --set model.layers[2].dense.activation=softmax --set loss.from_logits=false");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out == generate(drawn).out);
}

TEST_CASE("a causal model continues a text, and one that sees what follows is refused") {
  for (const bool is_causal : {true, false}) {
    write_file(
        trained() / "attention.yaml",
        config_with(fmt::format("multi_head_attention: {{num_heads: 2, key_dim: 8, use_causal_mask: {}}}", is_causal)));
    REQUIRE(
        run_program(trained(), fmt::format("fit attention.yaml --run-dir causal-{} --set training.epochs=1", is_causal))
            .exit_code == 0);
  }
  const Outcome causal = generate("causal-true --prompt x --tokens 20");
  CHECK_MESSAGE(causal.exit_code == 0, causal.err);
  CHECK(causal.out.size() == 20);
  const Outcome refused = generate("causal-false --prompt x --tokens 20");
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  for (const char* part :
       {"causal-false: expected a causal model", "position 0 of 16 sees bytes that follow it", "train one"})
    CHECK_MESSAGE(contains(refused.err, part), refused.err);
}

TEST_CASE("a causal model that masks zeros continues a text that is shorter than the window") {
  std::string text = config_with("multi_head_attention: {num_heads: 2, key_dim: 8, use_causal_mask: true}");
  text.replace(text.find("output_dim: 16}"), 15, "output_dim: 16, mask_zero: true}");
  write_file(trained() / "masked.yaml", text);
  REQUIRE(run_program(trained(), "fit masked.yaml --run-dir masked --set training.epochs=1").exit_code == 0);
  const Outcome outcome = generate("masked --prompt x --tokens 20");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out.size() == 20);
}

TEST_CASE("char-transformer learns the characters of its plays, and continues them") {
  REQUIRE(run_program(trained(), fmt::format("fit '{}' --run-dir transformer --set training.steps=60 "
                                             "--set optimizer.learning_rate=0.003 --set logging.every_steps=20",
                                             repository_file("configs/char-transformer.yaml")))
              .exit_code == 0);
  double loss = 0;
  for (const auto& event : events_of(trained() / "transformer/metrics.jsonl")) {
    if (event.at("event") == "step") loss = event.at("loss");
  }
  CHECK(loss < 3.0);  // 4.17 where all 65 are as likely; 3.3 for their frequencies
  const Outcome outcome = generate("transformer --prompt 'ROMEO:' --tokens 70");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out.size() == 70);
  const Outcome unknown = generate("transformer --prompt 'Caf\xc3\xa9' --tokens 3");
  CHECK(unknown.exit_code == 2);
  CHECK_MESSAGE(contains(unknown.err, "--prompt:1:4: expected a token of the vocabulary"), unknown.err);
}

TEST_CASE("a model may have more outputs than there are bytes") {
  std::string config = config_with("lstm: {units: 32, return_sequences: true}");
  config.replace(config.find("{units: 256}"), 12, "{units: 300, name: wide}");
  write_file(trained() / "wide.yaml", config);
  REQUIRE(run_program(trained(), "fit wide.yaml --run-dir wide").exit_code == 0);
  CHECK(generate("wide --prompt hell --tokens 20 --temperature 0").out == phrases(3).substr(4, 20));
}

TEST_CASE("a run keeps its vocabulary, whose tokens it writes") {
  write_file(trained() / "words.txt", "hello\nworld\n, \n \n");
  std::string config = config_with("lstm: {units: 16, return_sequences: true}");
  for (const auto& [from, to] : {std::pair{"files: phrase.txt", "files: phrase.txt, vocabulary: words.txt"},
                                 std::pair{"input_dim: 256", "input_dim: 4"}, std::pair{"{units: 256}", "{units: 4}"}})
    config.replace(config.find(from), std::string(from).size(), to);
  write_file(trained() / "words.yaml", config);
  const Outcome fit = run_program(trained(), "fit words.yaml --run-dir words --set training.epochs=60");
  REQUIRE_MESSAGE(fit.exit_code == 0, fit.err);
  fs::remove(trained() / "words.txt");
  CHECK(generate("words --prompt 'hello ' --tokens 4 --temperature 0").out == "world, hello ");
  const Outcome unknown = generate("words --prompt 'hello world; ' --tokens 4");
  CHECK(unknown.exit_code == 2);
  CHECK_MESSAGE(contains(unknown.err, "--prompt:1:12: expected a token of the vocabulary of the run, found '; '"),
                unknown.err);
}

TEST_CASE("a reader that has enough ends the command, and what cannot be written is an error") {
  const Outcome cut = run_script(trained(),
                                 "{ timeout 60 \"$MIRRORTRAIN\" generate lstm --prompt hell --tokens 1000000000 "
                                 "--temperature 0; echo $? > code.txt; } | head -c 9");
  CHECK(cut.out == "o world, ");
  CHECK(read_text_file(trained() / "code.txt") == "141\n");  // SIGPIPE
  CHECK_FALSE(contains(cut.err, "error"));
  if (!fs::exists("/dev/full")) return;
  const Outcome full = run_script(trained(),
                                  "timeout 60 \"$MIRRORTRAIN\" generate lstm --prompt hell --tokens 1000000000 > "
                                  "/dev/full");
  CHECK(full.exit_code == 1);
  CHECK_MESSAGE(contains(full.err, "cannot write to stdout"), full.err);
}

TEST_CASE("arguments and runs that give no text are refused") {
  write_file(trained() / "line.yaml",
             "data:\n  global_batch_size: 2\n  train: {format: inline, features: [[1], [2]], labels: [0, 1]}\n"
             "model:\n  input_shape: [1]\n  layers:\n    - dense: {units: 2}\n"
             "loss: {type: sparse_categorical_crossentropy, from_logits: true}\noptimizer: sgd\n"
             "training: {epochs: 1}\n");
  REQUIRE(run_program(trained(), "fit line.yaml --run-dir line").exit_code == 0);
  const std::vector<std::pair<std::string, std::string>> refusals = {
      {"lstm --prompt '' --tokens 3", "--prompt: expected at least one byte of text to continue, found none; begin"},
      {"lstm --prompt - --tokens 3 < /dev/null", "--prompt -: stdin: expected at least one byte"},
      {"lstm --tokens 3", "--prompt is required"},
      {"lstm --prompt x --tokens 0", "--tokens: expected a whole number of at least 1, found '0'"},
      {"lstm --prompt x --tokens many", "--tokens: expected a whole number of at least 1, found 'many'"},
      {"lstm --prompt x --tokens 3 --temperature -1", "--temperature: expected a number of at least 0, found '-1'"},
      {"lstm --prompt x --tokens 3 --temperature nan", "--temperature: expected a number of at least 0, found 'nan'"},
      {"lstm --prompt x --tokens 3 --top-k 0", "--top-k: expected a whole number of at least 1, found '0'"},
      {"lstm --prompt x --tokens 3.5", "--tokens: expected a whole number of at least 1, found '3.5'"},
      {"lstm --prompt x --tokens 0x10", "--tokens: expected a whole number of at least 1, found '0x10'"},
      {"lstm --prompt x --tokens 3 --temperature 1e999", "--temperature: expected a number of at least 0, found"},
      {"lstm --prompt x --tokens 3 --seed -4", "--seed: expected a whole number of at least 0, found '-4'"},
      {"lstm --prompt x --tokens 9223372036854775808",
       "--tokens: expected a whole number of at most 9223372036854775807, found '9223372036854775808'"},
      {"lstm --prompt x --tokens -99999999999999999999", "--tokens: expected a whole number of at least 1, found"},
      {"lstm --prompt x --tokens 1 --top-k 99999999999999999999", "--top-k: expected a whole number of at most"},
      {"lstm --prompt x --tokens 1 --seed 18446744073709551616",
       "--seed: expected a whole number of at most 18446744073709551615, found '18446744073709551616'"},
      {"line --prompt x --tokens 3",
       "line: expected a model that gives one of 256 classes or more, the next byte, for every position of a text, "
       "found the output [2] of an example; generate takes runs that were trained on data of format text, predict all "
       "others"},
      {"lstm --prompt x --tokens 3 --set loss=mean_squared_error", "found a loss that is no crossentropy of classes"},
      {"no-such-run --prompt x --tokens 3", "no-such-run"}};
  for (const auto& [arguments, message] : refusals) {
    const Outcome outcome = generate(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
  }
}

}  // namespace
}  // namespace mirrortrain::testing::generate_test
