// Everyday mistakes with sequences, and with the files of a run that was trained on them.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::sequence_mistakes_test {
namespace {

constexpr const char* kTagger = R"(data:
  global_batch_size: 2
  train: {format: csv, file: a.csv, labels: [t0, t1, t2]}
model:
  input_shape: [3]
  layers:
    - embedding: {input_dim: 6, output_dim: 4, mask_zero: true, name: words}
    - lstm: {units: 3, return_sequences: true, name: forward}
    - lstm: {units: 3, return_sequences: true, go_backwards: true, inputs: [words], name: backward}
    - flip
    - concatenate: {inputs: [forward, flip]}
    - dense: {units: 2}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: adam
training: {epochs: 1}
)";
constexpr const char* kHeader = "w0,w1,w2,t0,t1,t2\n";
constexpr const char* kNumbers = "1,2,0,0,1,0\n3,4,5,1,0,1\n2,1,4,0,0,1\n";
constexpr const char* kWords = "1,2,0,noun,verb,noun\n3,4,5,verb,noun,verb\n2,1,4,noun,noun,verb\n";

std::string replaced(std::string text, const std::string& part, const std::string& other) {
  REQUIRE(text.find(part) != text.npos);
  return text.replace(text.find(part), part.size(), other);
}

struct Fixture {
  TemporaryFolder folder;

  Outcome run(const std::string& arguments, const std::string& rows, const std::string& config = kTagger) {
    write_file(folder / "m.yaml", config);
    write_file(folder / "a.csv", kHeader + rows);
    return run_program(folder, arguments);
  }
  Outcome check(const std::string& rows, const std::string& config = kTagger) {
    return run("config check m.yaml", rows, config);
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "words in several label columns are one list of classes, by whose names predict calls them") {
  REQUIRE(run("fit m.yaml --run-dir r", kWords).exit_code == 0);
  CHECK(read_text_file(folder / "r/classes.json").find("noun") != std::string::npos);
  const Outcome predicted = run_program(folder, "predict r --data a.csv");
  std::istringstream lines(predicted.out);
  std::string header, first;
  std::getline(lines, header);
  std::getline(lines, first);
  CHECK(header == "index,prediction_0,prediction_1,prediction_2,name_0,name_1,name_2");
  const bool is_named = contains(first, "noun") || contains(first, "verb");
  CHECK_MESSAGE(is_named, first);
  // Numbers in their sorted order mean the same.
  REQUIRE(run("fit m.yaml --run-dir n", kNumbers).exit_code == 0);
  CHECK(read_text_file(folder / "n/model.safetensors") == read_text_file(folder / "r/model.safetensors"));

  const Outcome empty = check("1,2,0,noun,verb,\n");
  for (const char* part : {"column 5 ('t2'): expected a label, found an empty cell", "fill it in", "remove the row"})
    CHECK_MESSAGE(contains(empty.err, part), empty.err);
  CHECK(contains(check("1,2,0,noun,1,verb\n").err, "expected a word as in the labels before, found the number '1'"));
  const Outcome three = check(std::string(kWords) + "1,2,3,adj,noun,verb\n");
  CHECK_MESSAGE(contains(three.err,
                         "the labels have 3 classes (adj, noun, verb), but the outputs of the model are 2, so that "
                         "'verb' has none; give the model an output for each class"),
                three.err);
  CHECK(check(std::string(kWords) + "1,2,3,adj,noun,verb\n", replaced(kTagger, "units: 2", "units: 3")).exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "a wrong label or token is reported with its step, and with what can help") {
  struct Row {
    const char *rows, *answer;
  };
  const Row rows[] = {
      {"3,4,5,1,0,1\n1,2,0,0,1,-1\n",
       "row 1 (counting from 0): label -1 at position 2 is not one of the 2 classes 0 to 1; correct it; where padding "
       "is "
       "masked any class will do\n"},
      {"1,2,0,0,2,0\n",
       "label 2 at position 1 is not one of the 2 classes 0 to 1; correct it, or give the model as many outputs as "
       "there "
       "are classes, which count from 0"},
      {"1,-1,0,0,1,0\n",
       "-1 at position 1 is no whole number from 0 to 5, as the model's embedding wants them; correct it; padding is "
       "0\n"},
      {"1,2,6,0,1,0\n",
       "6 at position 2 is no whole number from 0 to 5, as the model's embedding wants them; correct it, or "
       "give the embedding a larger input_dim"},
  };
  for (const Row& row : rows) {
    const Outcome outcome = check(row.rows);
    CHECK(outcome.exit_code == 1);
    CHECK_MESSAGE(contains(outcome.err, row.answer), outcome.err);
  }
  const Outcome unmasked = check("1,2,3,0,1,-100\n", replaced(kTagger, ", mask_zero: true", ""));
  CHECK_MESSAGE(contains(unmasked.err,
                         "label -100 at position 2 is not one of the 2 classes 0 to 1; correct it; for padding "
                         "set mask_zero: true in the embedding, and take any class there"),
                unmasked.err);
  CHECK(check("1,2,0,0,1,1\n3,4,5,1,0,1\n").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "steps that run backwards are not joined with others without a warning") {
  const std::string warning =
      "joins steps of different places: 'backward' gives its last step first, as go_backwards does, and another input "
      "its first; put a flip behind it";
  const std::string unflipped = replaced(kTagger, "    - flip\n", "");
  const auto check_merge = [&](const std::string& merge) {
    return check(kNumbers, replaced(unflipped, "concatenate: {inputs: [forward, flip]}", merge)).err;
  };
  CHECK(check(kNumbers).err.empty());
  for (const char* const merge : {"concatenate", "add", "multiply", "average", "maximum"}) {
    const std::string err = check_merge(fmt::format("{}: {{inputs: [forward, backward]}}", merge));
    CHECK_MESSAGE(contains(err, fmt::format("model.layers[3].{}: {}", merge, warning)), err);
  }
  // What takes the steps of each for itself does not care.
  std::string pooled = replaced(unflipped, "concatenate: {inputs: [forward, flip]}",
                                "concatenate: {inputs: [forward, backward]}\n    - global_average_pooling1d");
  pooled = replaced(pooled, "labels: [t0, t1, t2]", "labels: t0, features: [w0, w1, w2]");
  const Outcome of_pooled = check(kNumbers, pooled);
  CHECK_MESSAGE(of_pooled.exit_code == 0, of_pooled.err);
  CHECK_MESSAGE(of_pooled.err.empty(), of_pooled.err);
  const std::string both = check_merge("add: {inputs: [backward, backward]}");
  CHECK_FALSE(contains(both, "joins steps"));
}

TEST_CASE_FIXTURE(Fixture, "a column of words in new data for a run without tables is no column to encode") {
  write_file(folder / "n.yaml", R"(data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [2], classes: 2}
model:
  input_shape: [2]
  layers: [dense: {units: 2}]
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: adam
training: {epochs: 1}
)");
  REQUIRE(run_program(folder, "fit n.yaml --run-dir r").exit_code == 0);
  write_file(folder / "new.csv", "a,b,label\n1,2,pos\n");
  const Outcome outcome = run_program(folder, "predict r --data new.csv");
  CHECK(outcome.exit_code == 1);
  for (const char* part : {"column 2 ('label'): expected a finite number, found 'pos'", "not trained on a table",
                           "remove what is no feature"}) {
    CHECK_MESSAGE(contains(outcome.err, part), outcome.err);
  }
  write_file(folder / "new.csv", "a,b\n1,2\n");
  CHECK(run_program(folder, "predict r --data new.csv").exit_code == 0);
  CHECK(contains(run_program(folder, "predict r --data new.csv > /dev/full").err,
                 "stdout: cannot write the predictions: No space left on device"));

  // The checkpoint that is advised for damaged weights.
  std::string weights = read_text_file(folder / "r/model.safetensors");
  weights[weights.size() - 2] ^= 4;
  write_file(folder / "r/model.safetensors", weights);
  const Outcome damaged = run_program(folder, "predict r --data new.csv");
  CHECK(damaged.exit_code == 1);
  CHECK_MESSAGE(contains(damaged.err, "it is damaged or was replaced; name a checkpoint, r/step-000002\n"),
                damaged.err);
  for (const char* const advised : {"predict r/step-000002 --data new.csv", "report r/step-000002"}) {
    CHECK(run_program(folder, advised).exit_code == 0);
  }
}

}  // namespace
}  // namespace mirrortrain::testing::sequence_mistakes_test
