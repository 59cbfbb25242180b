// Tables whose columns go to several inputs and outputs: training, predictions, and what mistakes are answered.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::table_inputs_test {
namespace {

const std::string kConfig = R"(data:
  global_batch_size: 8
  train:
    format: csv
    file: ratings.csv
    inputs:
      user: user_id
      context: [hour, weather]
      photo: {column: picture, as: picture, image_size: [4, 4]}
      review: {column: text, as: text, vocabulary: words.txt, length: 6}
    encoding: {weather: one_hot}
    labels: {rating: stars, clicked: {column: clicked, missing: ignore}}
    weights: {rating: weight}
  validation: {fraction: 0.25, shuffle: true}
  preprocessing:
    - normalization: {adapt: true, input: context}
    - rescaling: {scale: 0.00392156862745098, input: photo}
model:
  inputs: {user: {shape: []}, context: {shape: [3]}, photo: {shape: [4, 4, 3]}, review: {shape: [6]}}
  layers:
    - embedding: {input_dim: 10, output_dim: 4, inputs: [user], name: users}
    - dense: {units: 4, activation: relu, inputs: [context], name: tower}
    - flatten: {inputs: [photo], name: pixels}
    - embedding: {input_dim: 5, output_dim: 4, mask_zero: true, inputs: [review], name: tokens}
    - global_average_pooling1d: {inputs: [tokens], name: said}
    - concatenate: {inputs: [users, tower, pixels, said], name: all}
    - dense: {units: 1, inputs: [all], name: rating}
    - dense: {units: 1, inputs: [all], name: clicked}
  outputs: [rating, clicked]
loss:
  rating: mean_squared_error
  clicked: {type: binary_crossentropy, from_logits: true, weight: 0.2}
metrics: {rating: [mean_absolute_error], clicked: [accuracy]}
optimizer: {type: adam, learning_rate: 0.01}
training: {epochs: 2}
strategy: {type: mirrored, devices: ["cpu:0"], replicas: 1}
)";

constexpr int kRows = 60;

/// A table in which every seventh example does not say whether it was clicked.
struct Fixture {
  TemporaryFolder folder;

  Fixture() {
    fs::create_directory(folder / "pictures");
    for (const char* name : {"rgb.png", "gray.png"}) {
      fs::copy_file(fs::path(MIRRORTRAIN_SOURCE_DIR) / "tests/pictures" / name, folder / "pictures" / name);
    }
    write_file(folder / "words.txt", "<pad>\n \ngood\nbad\nvery\n");
    write_file(folder / "ratings.csv", table(true));
    write_file(folder / "a.yaml", kConfig);
  }

  static std::string table(bool has_labels) {
    std::string text = "user_id,hour,weather,picture,text";
    text += has_labels ? ",stars,clicked,weight\n" : "\n";
    for (int i = 0; i < kRows; ++i) {
      text += fmt::format("{},{},{},pictures/{}.png,{}", i % 10, i * 7 % 24, i % 3 == 0 ? "sun" : "rain",
                          i % 2 == 0 ? "rgb" : "gray", i % 4 == 0 ? "good" : "very bad");
      if (has_labels) text += fmt::format(",{},{},{}", i % 5, i % 7 == 0 ? "" : i % 3 == 0 ? "yes" : "no", 1 + i % 2);
      text += "\n";
    }
    return text;
  }
  Outcome fit(const std::string& rest) { return run_program(folder, "fit a.yaml " + rest); }
};

nlohmann::json last_epoch(const fs::path& run) {
  const auto events = events_of(run / "metrics.jsonl");
  return *std::find_if(events.rbegin(), events.rend(), [](const auto& one) { return one.at("event") == "epoch"; });
}

TEST_CASE_FIXTURE(Fixture, "words, pictures, texts, missing labels and weights by output train alike on any replicas") {
  const Outcome one = fit("--run-dir one"), two = fit("--run-dir two --set strategy.replicas=2");
  REQUIRE_MESSAGE(one.exit_code == 0, one.err);
  REQUIRE_MESSAGE(two.exit_code == 0, two.err);
  const auto of_one = last_epoch(folder / "one").at("metrics"), of_two = last_epoch(folder / "two").at("metrics");
  CHECK(of_one.size() == 4);
  for (const auto& [name, value] : of_one.items()) {
    CHECK_MESSAGE(of_two.at(name).get<double>() == doctest::Approx(value.get<double>()).epsilon(1e-4), name);
  }
  CHECK(run_program(folder, "verify a.yaml --set strategy.replicas=2").exit_code == 0);
  // What was resolved trains the same.
  REQUIRE(run_program(folder, "fit one/config.yaml --run-dir again").exit_code == 0);
  CHECK(read_text_file(folder / "again/model.safetensors") == read_text_file(folder / "one/model.safetensors"));
  CHECK(parsed(read_text_file(folder / "one/classes.json")) == nlohmann::json({{"clicked", {"no", "yes"}}}));
}

TEST_CASE_FIXTURE(Fixture, "a run on a table by name that was stopped goes on, and not with another table") {
  REQUIRE(fit("--run-dir whole").exit_code == 0);
  REQUIRE(fit("--run-dir cut --set training.steps=7").exit_code == 0);
  REQUIRE(fit("--run-dir cut --resume").exit_code == 0);
  CHECK(read_text_file(folder / "cut/model.safetensors") == read_text_file(folder / "whole/model.safetensors"));
  REQUIRE(fit("--run-dir other --set training.steps=7").exit_code == 0);
  std::string text = read_text_file(folder / "ratings.csv");
  write_file(folder / "ratings.csv", text.replace(text.find("very bad"), 8, "bad very"));
  CHECK(fit("--run-dir other --resume").exit_code == 2);
}

TEST_CASE_FIXTURE(Fixture, "predictions read a new table's columns by name, with labels or without") {
  REQUIRE(fit("--run-dir run").exit_code == 0);
  write_file(folder / "new.csv", table(false));
  const Outcome bare = run_program(folder, "predict run --data new.csv --keep picture --labels");
  REQUIRE_MESSAGE(bare.exit_code == 0, bare.err);
  CHECK(bare.out.starts_with("index,rating,clicked,clicked_name,picture\n0,"));
  CHECK(contains(bare.out, ",pictures/gray.png\n"));
  const Outcome labeled = run_program(folder, "predict run --data ratings.csv --labels");
  CHECK(labeled.out.starts_with("index,rating,clicked,clicked_name,rating_label,clicked_label\n0,"));
  const std::string first = bare.out.substr(0, bare.out.find(",pictures"));
  CHECK(contains(labeled.out, first.substr(first.find("\n0,")) + ",0,\n"));  // the first example has no `clicked`
}

TEST_CASE_FIXTURE(Fixture, "a column that is kept has no name of the predictions' own, and a missing label is null") {
  REQUIRE(fit("--run-dir run --set training.epochs=1").exit_code == 0);
  write_file(folder / "new.csv", "rating,index,rating_label,clicked_name," + replaced(table(true), "\n", "\n1,2,3,x,"));
  const std::string first_rows = read_text_file(folder / "new.csv");
  write_file(folder / "new.csv", first_rows.substr(0, first_rows.find('\n', first_rows.find('\n') + 1) + 1));
  for (const char* const column : {"rating", "index", "clicked_name"}) {
    for (const char* const file : {"o.csv", "o.jsonl"}) {
      CAPTURE(column);
      const Outcome taken =
          run_program(folder, fmt::format("predict run --data new.csv --keep {} -o {}", column, file));
      CHECK(taken.exit_code == 2);
      CHECK_MESSAGE(contains(taken.err, fmt::format("--keep {0}: '{0}' is a ", column)), taken.err);
      CHECK(contains(taken.err,
                     "of the predictions themselves; give the table's column another name, or, for the true "
                     "labels, write --labels instead"));
      CHECK(!fs::exists(folder / file));
    }
  }
  const Outcome both = run_program(folder, "predict run --data new.csv --keep rating_label --labels");
  CHECK(both.exit_code == 2);
  CHECK_MESSAGE(contains(both.err, "--labels writes a column 'rating_label' too; leave it out of --keep"), both.err);

  REQUIRE(run_program(folder, "predict run --data new.csv --labels -o o.jsonl").exit_code == 0);
  CHECK(events_of(folder / "o.jsonl").front().at("clicked_label").is_null());
  CHECK(events_of(folder / "o.jsonl").front().at("rating_label") == 0);
  REQUIRE(run_program(folder, "predict run --split train --labels -o own.jsonl").exit_code == 0);
  for (const auto& line : events_of(folder / "own.jsonl")) {
    CHECK(
        (line.at("clicked_label").is_null() || line.at("clicked_label") == "yes" || line.at("clicked_label") == "no"));
  }
}

TEST_CASE_FIXTURE(Fixture, "accuracy is that of the examples with a label") {
  REQUIRE(fit("--run-dir run").exit_code == 0);
  const Outcome outcome = run_program(folder, "predict run --split train --labels");
  int right = 0, all = 0;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t label = line.rfind(',') + 1;
    if (line.starts_with("index") || label == line.size()) continue;
    ++all;
    right += contains(line, "," + line.substr(label) + ",") ? 1 : 0;  // clicked_name
  }
  CHECK(all < kRows * 3 / 4);
  const auto figures = parsed(run_program(folder, "eval run --split train --json -").out);
  CHECK(figures.at("metrics").at("clicked_accuracy").get<double>() ==
        doctest::Approx(static_cast<double>(right) / all).epsilon(1e-6));
}

TEST_CASE_FIXTURE(Fixture, "mistakes in a table's inputs and outputs are answered at their place") {
  struct Row {
    std::string from, to, answer;
  };
  const Row rows[] = {
      {"user: user_id", "user: usr_id",
       "a.yaml:7:13: data.train.inputs.user: " + (folder / "ratings.csv").string() + ": there is no column 'usr_id'"},
      {"rating: stars", "rating: star", "a.yaml:12:22: data.train.labels.rating: "},
      {"weights: {rating: weight}", "weights: {rating: wait}", "a.yaml:13:23: data.train.weights.rating: "},
      {"weights: {rating", "weights: {raing",
       "a.yaml:13:22: data.train.weights.raing: the model has no output 'raing'; did you mean 'rating'?"},
      {"      user: user_id\n", "", "data.train.inputs: the model's input 'user' is missing; add user: to inputs"},
      {"      user: user_id\n", "      user: user_id\n      user: hour\n", "data.train.inputs.user: duplicate key"},
      {"      user: user_id\n", "      user: user_id\n      users: hour\n",
       "the model has no input 'users'; did you mean"},
      {"    inputs:\n      user: user_id", "    features: hour\n    inputs:\n      user: user_id",
       "data.train.inputs: features and inputs exclude each other"},
      {"user: user_id", "user: {column: user_id, color: gray}",
       "a.yaml:7:7: data.train.inputs.user: color is for pictures; add as: picture, or leave it out"},
      {", length: 6", "", "data.train.inputs.review: expected the number of tokens of each text, as length: 64"},
      {"as: text", "as: txt", "data.train.inputs.review.as: expected one of picture, text, found the text 'txt'"},
      {"{column: clicked, missing: ignore}", "{colum: clicked, missing: ignore}",
       "data.train.labels.clicked.colum: unknown key; did you mean 'column'?"},
      {"labels: {rating: stars, clicked: {column: clicked, missing: ignore}}", "labels: stars",
       "expected labels by name, as the model has several outputs"},
      {"user: user_id", "user: []", "user: expected at least one column, found an empty list"},
  };
  for (const Row& row : rows) {
    write_file(folder / "a.yaml", replaced(kConfig, row.from, row.to));
    const Outcome outcome = fit("--run-dir run");
    CHECK_MESSAGE(outcome.exit_code == 2, row.to);
    CHECK_MESSAGE(contains(outcome.err, row.answer), outcome.err);
  }
}

TEST_CASE_FIXTURE(Fixture, "what does not fit the data names the input, its place or the output") {
  struct Row {
    std::string from, to, answer;
  };
  const Row rows[] = {
      {"input_dim: 10", "input_dim: 4",
       "row 4 (counting from 0): 4 of the input 'user' is no whole number from 0 to 3, as its embedding, of input_dim: "
       "4, wants them; correct it, or give the embedding a larger input_dim; encoding: {COLUMN: index} numbers the "
       "ids that occur"},
      {"input_dim: 5", "input_dim: 4",
       "words.txt: numbers from 0 to 4, but the embedding 'tokens' has input_dim: 4; write input_dim: 5"},
      {"clicked: {column: clicked, missing: ignore}", "clicked: hour",
       "row 1 (counting from 0): label 7 of the output 'clicked' is not between 0 and 1"},
      {"rating: stars", "rating: weather", "the label 'sun' of the output 'rating' is a word, and the loss compares"},
      {"context: {shape: [3]}", "context: {shape: [2]}",
       "a.yaml:16:7: data.preprocessing[0].normalization: examples of 3 numbers do not have 2 channels, as the last "
       "axis of model.inputs.context.shape has"},
      {"photo: {column: picture, as: picture, image_size: [4, 4]}", "photo: picture",
       "found 'pictures/rgb.png'; a column of pictures is an input of the model: inputs: {INPUT: {column: picture, "
       "as: picture, image_size: [64, 64]}}, or is left out"},
      {"context: [hour, weather]", "context: [hour, said, weather]",
       "a column of texts is an input of the model: inputs: {INPUT: {column: said, as: text, length: 64}}, or is left "
       "out"},
  };
  std::string with_texts, line;
  std::istringstream lines(table(true));
  while (std::getline(lines, line)) {
    with_texts += line + (with_texts.empty() ? ",said\n" : ",it was a good day\n");
  }
  write_file(folder / "ratings.csv", with_texts);
  for (const Row& row : rows) {
    write_file(folder / "a.yaml", replaced(kConfig, row.from, row.to));
    const Outcome outcome = fit("--run-dir run");
    CHECK_MESSAGE(outcome.exit_code == 1, row.to);
    CHECK_MESSAGE(contains(outcome.err, row.answer), outcome.err);
  }
}

TEST_CASE_FIXTURE(Fixture, "a file that is no picture is reported with the cell that names it") {
  write_file(folder / "ratings.csv", replaced(table(true), "pictures/gray.png", "ratings.csv"));
  const Outcome outcome = fit("--run-dir run");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "ratings.csv:3: row 1 (counting from 0), column 3 ('picture'): "), outcome.err);
  CHECK(contains(outcome.err, "expected a picture as PNG, JPEG, WebP, BMP, GIF or TIFF, found none"));
  // Also where the first picture says the size of all.
  write_file(folder / "a.yaml", replaced(kConfig, ", image_size: [4, 4]", ""));
  write_file(folder / "ratings.csv", replaced(table(true), "pictures/rgb.png", "ratings.csv"));
  const Outcome first = run_program(folder, "config check a.yaml");
  CHECK_MESSAGE(contains(first.err, "ratings.csv:2: row 0 (counting from 0), column 3 ('picture'): "), first.err);
}

TEST_CASE_FIXTURE(Fixture, "words that say what number the label is are warned of") {
  std::string of_weather = "user_id,hour,weather,picture,text,stars,clicked,weight\n", of_user = of_weather;
  for (int i = 0; i < kRows; ++i) {
    const std::string row = fmt::format("{},{},{}{{}},pictures/rgb.png,good,{{}},{},1\n", i % 10, i * 7 % 24,
                                        i % 3 == 0   ? "sun"
                                        : i % 3 == 1 ? "rain"
                                                     : "fog",
                                        i % 2 == 0 ? "no" : "yes");
    of_weather += fmt::format(fmt::runtime(row), "", i % 3 == 0 ? 7 : i % 3 == 1 ? 2 : 4);
    of_user += fmt::format(fmt::runtime(row), i, i);  // each row has a word of its own
  }
  write_file(folder / "ratings.csv", of_weather);
  const std::string warned = run_program(folder, "config check a.yaml --set 'model.inputs.context.shape=[4]'").err;
  CHECK_MESSAGE(contains(warned, "column 2 ('weather') is the label of the output 'rating' in other words"), warned);
  write_file(folder / "ratings.csv", of_user);
  const Outcome alone = run_program(folder,
                                    "config check a.yaml --set 'model.inputs.context.shape=[47]' --set "
                                    "'data.train.encoding={weather: {one_hot: {unknown: own_class}}}'");
  CHECK_MESSAGE(alone.exit_code == 0, alone.err);
  CHECK(!contains(alone.err, "in other words"));
}

TEST_CASE_FIXTURE(Fixture, "tokens that no embedding reads are no numbers to normalize") {
  std::string text = replaced(
      kConfig, "    - embedding: {input_dim: 5, output_dim: 4, mask_zero: true, inputs: [review], name: tokens}\n", "");
  text = replaced(text, "global_average_pooling1d: {inputs: [tokens], name: said}",
                  "dense: {units: 4, inputs: [review], name: said}");
  write_file(folder / "a.yaml", replaced(text, ", vocabulary: words.txt", ""));
  const Outcome outcome = run_program(folder, "config check a.yaml");
  CHECK_MESSAGE(contains(outcome.err,
                         "the features of 'review' are tokens, whose numbers are no sizes; let an embedding "
                         "read them, with input_dim: 256"),
                outcome.err);
  CHECK(!contains(outcome.err, "input: review"));
}

TEST_CASE_FIXTURE(Fixture, "a resume names the part of the data that changed") {
  REQUIRE(fit("--run-dir run --set training.steps=2").exit_code == 0);
  write_file(folder / "ratings.csv", replaced(table(true), ",good,1,", ",good,3,"));
  const Outcome outcome = fit("--run-dir run --resume");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err,
                         "data.train: the data for training or validation changed since step-000002 was "
                         "saved, in the labels of 'rating' ("),
                outcome.err);
  CHECK(contains(outcome.err, "ratings.csv): expected "));
}

/// Two columns of words, whose embedding is one.
const std::string kGames = R"(data:
  global_batch_size: 8
  train:
    format: csv
    file: games.csv
    inputs: {home: home, away: away}
    labels: {goals: goals}
    encoding: {home: index, away: index}
model:
  inputs: {home: {shape: []}, away: {shape: []}}
  layers:
    - embedding: {input_dim: 5, output_dim: 4, inputs: [home], name: team}
    - reuse: {layer: team, inputs: [away], name: other}
    - concatenate: {inputs: [team, other]}
    - dense: {units: 1, name: goals}
loss: mean_squared_error
optimizer: adam
training: {epochs: 1}
)";

struct GamesFixture {
  TemporaryFolder folder;

  GamesFixture() {
    const std::vector<std::string> teams{"ajax", "celtic", "dynamo", "fulham", "genk"};
    std::string text = "home,away,goals\n";
    for (std::size_t i = 0; i < 40; ++i) text += fmt::format("{},{},{}\n", teams[i % 3], teams[2 + i % 3], i * 7 % 5);
    write_file(folder / "games.csv", text);
  }
  Outcome check(const std::string& text) {
    write_file(folder / "g.yaml", text);
    return run_program(folder, "config check g.yaml");
  }
};

TEST_CASE_FIXTURE(GamesFixture, "words of columns that share an embedding are numbered together") {
  REQUIRE_MESSAGE(check(kGames).exit_code == 0, check(kGames).err);
  REQUIRE(run_program(folder, "fit g.yaml --run-dir run").exit_code == 0);
  const auto kept = parsed(read_text_file(folder / "run/preprocessing.json"));
  for (const auto& column : kept.at("table").at("features")) CHECK(column.at("words").size() == 5);
  // Also the columns of one input.
  std::string text = replaced(kGames, "inputs: {home: home, away: away}", "inputs: {teams: [home, away]}");
  text = replaced(text, "inputs: {home: {shape: []}, away: {shape: []}}", "inputs: {teams: {shape: [2]}}");
  text = replaced(text, ", inputs: [home], name: team}", "}");
  text = replaced(text, "    - reuse: {layer: team, inputs: [away], name: other}\n", "");
  text = replaced(text, "concatenate: {inputs: [team, other]}", "flatten");
  CHECK_MESSAGE(check(text).exit_code == 0, check(text).err);
  const Outcome small = check(replaced(text, "input_dim: 5", "input_dim: 3"));
  CHECK_MESSAGE(contains(small.err, "write input_dim: 5"), small.err);

  const Outcome other = check(replaced(kGames, "away: index", "away: {hash: {bins: 5}}"));
  for (const char* part : {"embedding 'team'", "column 0 ('home'), numbered by index",
                           "column 1 ('away'), numbered by hashes of words, of 5 bins"})
    CHECK_MESSAGE(contains(other.err, part), other.err);
  const Outcome plain = check(replaced(kGames, "{home: index, away: index}", "{home: index}"));
  CHECK(plain.exit_code == 1);
}

TEST_CASE_FIXTURE(GamesFixture, "every number that a column may give has a row of the embedding") {
  const Outcome own = check(replaced(kGames, "away: index", "away: {index: {unknown: own_class}}"));
  CHECK(own.exit_code == 1);
  CHECK_MESSAGE(contains(own.err, "numbers from 0 to 5, but the embedding 'team' has input_dim: 5; write input_dim: 6"),
                own.err);
  std::string text =
      replaced(kGames, "{home: index, away: index}", "{home: {hash: {bins: 9}}, away: {hash: {bins: 9}}}");
  CHECK_MESSAGE(contains(check(text).err, "write input_dim: 9"), check(text).err);

  text = replaced(kGames, "{home: home, away: away}",
                  "{home: {column: home, as: text, length: 4}, away: {column: away, as: text, length: 4}}");
  text = replaced(replaced(text, "    encoding: {home: index, away: index}\n", ""), "input_dim: 5", "input_dim: 128");
  text = replaced(replaced(text, "home: {shape: []}", "home: {shape: [4]}"), "away: {shape: []}", "away: {shape: [4]}");
  text = replaced(text, "{inputs: [team, other]}", "{inputs: [team, other], name: both}\n    - flatten");
  const Outcome bytes = check(text);
  CHECK(bytes.exit_code == 1);
  CHECK_MESSAGE(contains(bytes.err, "whose tokens are bytes: numbers from 0 to 255"), bytes.err);
  CHECK(check(replaced(text, "input_dim: 128", "input_dim: 256")).exit_code == 0);
  // In another encoding the same text would be other tokens.
  write_file(folder / "games.csv", "home,away,goals\ncaf\xe9,genk,1\n");
  const Outcome latin = check(replaced(text, "input_dim: 128", "input_dim: 256"));
  CHECK_MESSAGE(contains(latin.err, "is not UTF-8; save the file as UTF-8"), latin.err);
}

TEST_CASE_FIXTURE(GamesFixture, "a mask of 0 masks no word") {
  const std::string masked = replaced(kGames, "output_dim: 4", "output_dim: 4, mask_zero: true");
  const Outcome outcome = check(masked);
  CHECK(outcome.exit_code == 1);
  for (const char* part :
       {"mask_zero of 'team'", "column 0 ('home') 0 is the word 'ajax'", "leave mask_zero out", "missing: constant"})
    CHECK_MESSAGE(contains(outcome.err, part), outcome.err);
  const std::string advised = replaced(replaced(masked, "input_dim: 5", "input_dim: 6"),
                                       "    encoding:", "    missing: constant\n    encoding:");
  CHECK_MESSAGE(check(advised).exit_code == 0, check(advised).err);
}

TEST_CASE_FIXTURE(GamesFixture, "missing may be said by column") {
  write_file(folder / "games.csv", "home,away,goals\n1,2,1\n,3,2\n3,,1\n4,5,3\n");
  std::string text = replaced(kGames, "    encoding: {home: index, away: index}\n", "    missing: {home: mean}\n");
  text = replaced(text, "    - embedding: {input_dim: 5, output_dim: 4, inputs: [home], name: team}\n", "");
  text = replaced(text, "    - reuse: {layer: team, inputs: [away], name: other}\n", "");
  text = replaced(replaced(text, "{shape: []}, away", "{shape: [1]}, away"), "away: {shape: []}", "away: {shape: [1]}");
  text = replaced(text, "[team, other]", "[home, away]");
  CHECK_MESSAGE(contains(check(text).err, "column 1 ('away'): expected a number, found an empty cell"),
                check(text).err);
  const std::string both = replaced(text, "{home: mean}", "{home: mean, 1: {constant: {value: 7}}}");
  REQUIRE_MESSAGE(check(both).exit_code == 0, check(both).err);
  REQUIRE(run_program(folder, "fit g.yaml --run-dir run").exit_code == 0);
  const auto features = parsed(read_text_file(folder / "run/preprocessing.json")).at("table").at("features");
  CHECK(features[0].at("missing").get<double>() == doctest::Approx(8.0 / 3));
  CHECK(features[1].at("missing") == 7);
  CHECK(run_program(folder, "config check run/config.yaml").exit_code == 0);
  CHECK(contains(check(replaced(text, "home: mean", "hom: mean")).err, "did you mean 'home'?"));
  CHECK(contains(check(replaced(text, "home: mean", "home: meen")).err, "did you mean 'mean'?"));
}

TEST_CASE_FIXTURE(Fixture, "a column that is an input and the label is said to be both") {
  write_file(folder / "a.yaml", replaced(kConfig, "context: [hour, weather]", "context: [hour, stars]"));
  const Outcome outcome = run_program(folder,
                                      "config check a.yaml --set data.train.encoding={} --set "
                                      "'model.inputs.context.shape=[2]'");
  for (const char* part : {"column 5 ('stars') is the label of the output 'rating'", "leave it out of 'inputs'"})
    CHECK_MESSAGE(contains(outcome.err, part), outcome.err);
}

}  // namespace
}  // namespace mirrortrain::testing::table_inputs_test
