// Configurations with several inputs and outputs: what a user reads of them, and what mistakes are answered.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "cli/program.h"
#include "data/files.h"
#include "error_text.h"

namespace mirrortrain::testing::several_outputs_test {
namespace {

const std::string kConfig = R"(data:
  global_batch_size: 16
  train:
    format: synthetic
    examples: 80
    inputs: {user: {shape: [], below: 10}, context: {shape: [4]}}
    labels: {rating: {label_shape: [1]}, clicked: {classes: 2}}
  validation: {fraction: 0.25}
model:
  inputs: {user: {shape: []}, context: {shape: [4]}}
  layers:
    - embedding: {input_dim: 10, output_dim: 4, inputs: [user], name: users}
    - dense: {units: 4, activation: relu, inputs: [context], name: tower}
    - concatenate: {inputs: [users, tower], name: all}
    - dense: {units: 1, inputs: [all], name: rating}
    - dense: {units: 1, inputs: [all], name: clicked}
  outputs: [rating, clicked]
loss:
  rating: mean_squared_error
  clicked: {type: binary_crossentropy, from_logits: true, weight: 0.2}
metrics: {rating: [mean_absolute_error], clicked: [accuracy, auc]}
optimizer: {type: adam, learning_rate: 0.01}
training: {epochs: 2}
callbacks:
  - early_stopping: {metric: clicked_auc, mode: max, patience: 5}
)";

std::string with(const std::string& from, const std::string& to) { return replaced(kConfig, from, to); }

TEST_CASE("outputs may be named as options of losses are") {
  const TemporaryFolder folder;
  std::string text = kConfig;
  for (const auto& [from, to] : {std::pair("rating", "weight"), std::pair("clicked", "kind")}) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, std::string(from).size(), to);
    }
  }
  write_file(folder / "a.yaml", text);
  const Outcome outcome = run_program(folder, "config check a.yaml");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
}

TEST_CASE("events, evaluations and predictions name the outputs") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", kConfig);
  REQUIRE(run_program(folder, "fit a.yaml --run-dir run").exit_code == 0);
  const auto events = events_of(folder / "run/metrics.jsonl");
  const auto epoch = std::ranges::find_if(events, [](const auto& event) { return event.at("event") == "epoch"; });
  REQUIRE(epoch != events.end());
  for (const auto& metrics : {epoch->at("metrics"), epoch->at("validation").at("metrics")}) {
    CHECK(metrics.size() == 5);
    for (const char* name :
         {"rating_loss", "rating_mean_absolute_error", "clicked_loss", "clicked_accuracy", "clicked_auc"}) {
      CHECK_MESSAGE(metrics.contains(name), name);
    }
  }
  // What was resolved is a configuration.
  CHECK(run_program(folder, "config check run/config.yaml").exit_code == 0);

  // Runs are compared by the loss of all outputs together.
  const auto runs = parsed(run_program(folder, "runs run --json -").out).at("runs");
  CHECK(runs.at(0).at("metric") == "loss");
  const auto last =
      std::find_if(events.rbegin(), events.rend(), [](const auto& one) { return one.at("event") == "epoch"; });
  CHECK(runs.at(0).at("last") == last->at("validation").at("loss"));

  const auto evaluated = parsed(run_program(folder, "eval run --split validation --json -").out);
  CHECK(evaluated.at("outputs").size() == 1);
  CHECK(evaluated.at("outputs").at("clicked").at("confusion_matrix").size() == 2);
  CHECK(evaluated.at("metrics").at("rating_loss").get<double>() +
            0.2 * evaluated.at("metrics").at("clicked_loss").get<double>() ==
        doctest::Approx(evaluated.at("loss").get<double>()));

  const std::string csv = run_program(folder, "predict run --split validation").out;
  CHECK(csv.starts_with("index,rating,clicked\n0,"));
  REQUIRE(run_program(folder, "predict run --split validation --probabilities -o p.jsonl").exit_code == 0);
  const auto line = events_of(folder / "p.jsonl").front();
  CHECK(line.at("rating").is_number());
  CHECK(line.at("clicked_probabilities").size() == 2);
  const Outcome watched =
      run_program(folder, "config check a.yaml --no-data --set 'callbacks=[{early_stopping: {metric: auc}}]'");
  CHECK_MESSAGE(contains(watched.err, "found 'auc'; of one of several outputs, write clicked_auc"), watched.err);
  const Outcome npy = run_program(folder, "predict run --split validation -o p.npy");
  CHECK(npy.exit_code == 2);
  CHECK(contains(npy.err, "the model has 2 outputs"));

  REQUIRE(run_program(folder, "report run").exit_code == 0);
  CHECK(contains(read_text_file(folder / "run/report.html"), "Classes of clicked"));
  CHECK(run_program(folder, "verify a.yaml").exit_code == 0);
}

/// Float32 numbers as numpy.save writes them.
std::string npy(const std::string& shape, const std::vector<float>& numbers) {
  return data::npy("<f4", false, shape, data::bytes_of(numbers));
}

TEST_CASE("new data of several inputs are arrays of their names, with labels or without; one array is refused") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", kConfig);
  REQUIRE(run_program(folder, "fit a.yaml --run-dir run --set training.epochs=1").exit_code == 0);
  const std::string context = npy("(2, 4)", {1, 2, 3, 4, 5, 6, 7, 8});
  const auto predicted = [&](const std::vector<std::pair<std::string, std::string>>& arrays, const std::string& more) {
    std::vector<data::ZipFile> files;
    for (const auto& [name, content] : arrays) files.push_back({name + ".npy", content});
    write_file(folder / "new.npz", data::zip(files));
    return run_program(folder, "predict run --data new.npz " + more);
  };
  const std::pair<std::string, std::string> user{"user", npy("(2,)", {3, 4})}, of_context{"context", context};
  const std::pair<std::string, std::string> clicked{"clicked", npy("(2,)", {1, 0})};
  CHECK(predicted({user, of_context, clicked}, "").out.starts_with("index,rating,clicked\n0,"));
  const Outcome labelled = predicted({user, of_context, clicked}, "--labels");
  CHECK_MESSAGE(labelled.out.starts_with("index,rating,clicked,clicked_label\n0,"), labelled.out);
  CHECK(contains(labelled.out, ",1\n1,"));
  REQUIRE(predicted({user, of_context, clicked}, "--labels -o l.jsonl").exit_code == 0);
  CHECK(events_of(folder / "l.jsonl").front().at("clicked_label") == 1);
  CHECK(contains(predicted({user, of_context}, "--labels").err, "--labels: new.npz has no labels"));
  const Outcome fewer = predicted({user, of_context, {"clicked", npy("(1,)", {1})}}, "--labels");
  CHECK(fewer.exit_code == 1);
  CHECK(contains(fewer.err, "clicked has 1 rows, but there are 2 examples"));
  CHECK(contains(predicted({of_context}, "").err, "there is no array 'user' in it, but [context]"));

  write_file(folder / "new.npy", context);
  write_file(folder / "new.csv", "1,2,3,4,5\n");
  for (const char* const file : {"new.npy", "new.csv"}) {
    const Outcome one = run_program(folder, std::string("predict run --data ") + file);
    CHECK(one.exit_code == 2);
    CHECK(contains(one.err, "the model has the inputs user, context, and this is the data of one"));
  }
}

TEST_CASE("a run of several outputs that was stopped goes on to the same bits") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", kConfig);
  REQUIRE(run_program(folder, "fit a.yaml --run-dir whole --set training.epochs=4").exit_code == 0);
  REQUIRE(run_program(folder, "fit a.yaml --run-dir cut --set training.epochs=4 --set training.steps=5").exit_code ==
          0);
  REQUIRE(run_program(folder, "fit a.yaml --run-dir cut --resume --set training.epochs=4 --set training.steps=null")
              .exit_code == 0);
  CHECK(read_text_file(folder / "cut/model.safetensors") == read_text_file(folder / "whole/model.safetensors"));
  const auto last_epoch = [&](const char* run) {
    const auto events = events_of(folder / run / "metrics.jsonl");
    return std::find_if(events.rbegin(), events.rend(), [](const auto& one) { return one.at("event") == "epoch"; })
        ->at("metrics");
  };
  CHECK(last_epoch("cut") == last_epoch("whole"));
}

TEST_CASE("mistakes with several inputs and outputs are answered at their place") {
  struct Row {
    std::string from, to, answer;
  };
  const Row rows[] = {
      {"inputs: [user], name", "inputs: [usr], name",
       "a.yaml:12:58: model.layers[0].embedding.inputs[0]: no earlier layer and no input of the model is named 'usr'; "
       "did you mean 'user'?"},
      {"inputs: [context], name: tower", "inputs: [input], name: tower", "the model has several inputs: name one of "},
      {"outputs: [rating, clicked]", "outputs: [rating, cliked]",
       "model.outputs[1]: no layer is named 'cliked'; did you mean 'clicked'?"},
      {"outputs: [rating, clicked]", "outputs: [rating, rating]", "the output 'rating' is listed twice"},
      {"outputs: [rating, clicked]", "outputs: [rating, user]", "'user' is an input of the model"},
      {"  rating: mean_squared_error\n", "", "the output 'rating' has no loss; give it one, or leave it out of "},
      {"  rating: mean_squared_error\n", "  ratings: mean_squared_error\n",
       "loss.ratings: no output of the model is named 'ratings'; did you mean 'rating'?"},
      {"metrics: {rating: [mean_absolute_error], clicked: [accuracy, auc]}", "metrics: [accuracy]",
       "expected metrics by output, as the model has several"},
      {"metrics: {rating:", "metrics: {raing:", "metrics.raing: no output of the model is named 'raing'"},
      {"context: {shape: [4]}}\n  layers", "context: {shape: [4]}, other: {shape: [2]}}\n  layers",
       "model.inputs.other.shape: no layer that an output depends on reads the input 'other'"},
      {"context: {shape: [4]}}\n    labels", "kontext: {shape: [4]}}\n    labels",
       "data.train.inputs.kontext: the model has no input 'kontext'; did you mean 'context'?"},
      {"user: {shape: [], below: 10}, context: {shape: [4]}}\n    labels", "user: {shape: [], below: 10}}\n    labels",
       "data.train.inputs: the model's input 'context' is missing"},
      {"labels: {rating: {label_shape: [1]}, clicked: {classes: 2}}", "label_shape: [1]",
       "expected labels by name, as the model has several outputs: labels: {rating: ..., clicked: ...}"},
      {"clicked: {classes: 2}}", "clicked: {label_shape: [3]}}",
       "one label has the shape [3], but the output 'clicked' and its loss take [1]"},
      {"context: {shape: [4]}}\n    labels", "context: {shape: [5]}}\n    labels",
       "one example has the shape [5], but model.inputs.context.shape is [4]"},
      {"below: 10", "below: 11", "numbers below 11, but the model's embedding looks up those below 10"},
      {"  validation: {fraction: 0.25}\n",
       "  validation: {fraction: 0.25}\n  preprocessing: [normalization: {adapt: true}]\n",
       "the model has several inputs: add input: with one of user, context"},
      {"  validation: {fraction: 0.25}\n",
       "  validation: {fraction: 0.25}\n  preprocessing: [rescaling: {scale: 2, input: contxt}]\n",
       "the model has no input 'contxt'; did you mean 'context'?"},
      {"  validation: {fraction: 0.25}\n",
       "  validation: {fraction: 0.25}\n  preprocessing: [rescaling: {scale: 2, input: user}]\n",
       "rescaling changes the numbers that the model's embedding looks up"},
      {"name: tower}", "name: user}", "'user' is an input of the model; choose another name"},
      {"inputs: [all], name: clicked}", "inputs: [all], name: clicked}\n    - reuse: {layer: towr, inputs: [context]}",
       "no earlier layer or use of a block is named 'towr'; did you mean 'tower'?"},
      {"    - concatenate:", "    - reuse: {layer: tower, inputs: [users]}\n    - concatenate:",
       "no layer and no output uses the output of 'reuse'"},
      {"inputs: [users, tower], name: all}",
       "inputs: [users, tower, again], name: all}\n    - reuse: {layer: all, inputs: [users, tower], name: again}",
       "no earlier layer and no input of the model is named 'again'"},
      {"model:\n  inputs:", "model:\n  input_shape: [4]\n  inputs:", "input_shape and inputs exclude each other"},
      {"inputs: [all], name: clicked}", "inputs: [all], name: clicked}\n    - reuse: {inputs: [context], name: again}",
       "a.yaml:17:7: model.layers[5].reuse: missing key 'layer'"},
      {"inputs: [all], name: clicked}",
       "inputs: [all], name: clicked}\n    - reuse: {layer: tower, units: 3, inputs: [context]}",
       "model.layers[5].reuse.units: unknown key"},
      {"inputs: [all], name: clicked}",
       "inputs: [all], name: clicked}\n    - reuse: {layer: [tower], inputs: [context]}",
       "model.layers[5].reuse.layer: expected"},
      {"weight: 0.2", "weight: 1.0e39", "loss.clicked.weight: expected a number of magnitude at most 3.40282e+38"},
      {"model:\n  inputs: {user:", "model:\n  inputs: {../user:",
       "model.inputs.../user: expected a name of letters (of any script), digits, '_', '-' and '.', found '../user'"},
      {"model:\n  inputs: {user:", "model:\n  inputs: {\"\":", "expected a name of letters (of any script), digits"},
      {"model:\n  inputs: {user:", "model:\n  inputs: {..:", "and '.', found '..'"},
      {"name: clicked}", "name: a/clicked}", "expected a name of letters (of any script), digits, '_', '-' and '.'"},
      {"metric: clicked_auc", "metric: auc", "expected loss or one of the run's metrics (loss, rating_loss, "},
  };
  const TemporaryFolder folder;
  for (const Row& row : rows) {
    write_file(folder / "a.yaml", with(row.from, row.to));
    const Outcome outcome = run_program(folder, "config check a.yaml");
    CAPTURE(row.to);
    CHECK(outcome.exit_code != 1);
    const std::string text = outcome.out + outcome.err;
    CHECK_MESSAGE(contains(text, row.answer), text);
  }
}

TEST_CASE("a step of preprocessing that does not say whose it is is one error") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", with("  validation: {fraction: 0.25}\n",
                                     "  validation: {fraction: 0.25}\n  preprocessing: [normalization: {mean: [1, 2], "
                                     "variance: 1}, rescaling: {scale: 2, input: user}]\n"));
  const Outcome outcome = run_program(folder, "config check a.yaml");
  CHECK_MESSAGE(contains(outcome.err, "data.preprocessing[0].normalization: the model has several inputs: add input: "),
                outcome.err);
  CHECK(contains(outcome.err, "data.preprocessing[1].rescaling: rescaling changes the numbers that"));
  CHECK(contains(outcome.err, "\n2 errors"));
}

TEST_CASE("a loss that is not finite, and labels of one class, name their output") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", with("mean_squared_error", "{type: formula, formula: \"mean(log(y_pred - 100))\"}"));
  const Outcome diverged = run_program(folder, "fit a.yaml --run-dir run");
  CHECK(diverged.exit_code == 3);
  CHECK_MESSAGE(contains(diverged.err, "the loss is NaN, that of 'rating'"), diverged.err);

  std::string table = "user,a,b,c,d,rating,clicked\n", other = table;
  for (int i = 0; i < 40; ++i) table += fmt::format("{},{},1,2,3,{},{}\n", i % 10, i * 7 % 11, i % 5, i % 2);
  for (int i = 0; i < 40; ++i) other += fmt::format("{},{},1,2,3,{},0\n", i % 10, i * 7 % 11, i % 5);
  const auto checked = [&](const std::string& train, const std::string& test) {
    write_file(folder / "train.csv", train);
    write_file(folder / "test.csv", test);
    return run_program(
               folder,
               "config check a.yaml --set 'data.train={format: csv, file: train.csv, inputs: {user: user, context: [a, "
               "b, c, d]}, labels: {rating: rating, clicked: clicked}}' --set 'data.test={format: csv, file: test.csv, "
               "labels: {rating: rating, clicked: clicked}}'")
        .err;
  };
  const std::string of_test = checked(table, other), of_train = checked(other, table);
  CHECK_MESSAGE(contains(of_test, "every label of 'clicked' of test is 0, though the training data have others"),
                of_test);
  CHECK_MESSAGE(contains(of_train, "every label of 'clicked' is 0: there is nothing to distinguish"), of_train);
}

TEST_CASE("one array for a run whose archive has arrays of other names than the inputs is answered with those") {
  const TemporaryFolder folder;
  const std::string user = npy("(4,)", {1, 2, 3, 4}), context = npy("(4, 4)", std::vector<float>(16, 1));
  write_file(folder / "t.npz", data::zip({{"u.npy", user},
                                          {"c.npy", context},
                                          {"r.npy", npy("(4, 1)", {1, 2, 3, 4})},
                                          {"k.npy", npy("(4,)", {0, 1, 0, 1})}}));
  write_file(folder / "a.yaml", kConfig);
  const std::string fit =
      "fit a.yaml --run-dir run --set training.epochs=1 --set data.validation=null --set callbacks=[] --set "
      "'data.train={format: npz, file: t.npz, inputs: {user: u, context: c}, labels: {rating: r, clicked: k}}'";
  const Outcome trained = run_program(folder, fit);
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
  write_file(folder / "new.npy", context);
  const Outcome one = run_program(folder, "predict run --data new.npy");
  CHECK_MESSAGE(contains(one.err,
                         "the model has the inputs user, context, and this is the data of one; save them all as "
                         "numpy.savez(\"new.npz\", u=..., c=...)"),
                one.err);
  write_file(folder / "n.npz", data::zip({{"u.npy", user}, {"c.npy", context}}));
  CHECK(run_program(folder, "predict run --data n.npz").exit_code == 0);

  CHECK(contains(run_program(folder, "eval run --file t.npz").err, "did you mean --data?"));
  const Outcome evaluated = run_program(folder, "eval run --data t.npz");
  CHECK_MESSAGE(evaluated.exit_code == 0, evaluated.err);
  CHECK(evaluated.out == run_program(folder, "eval run --set 'data.test={format: npz, file: t.npz}'").out);
  // What the data have is named as in the file.
  write_file(folder / "t.npz", data::zip({{"u.npy", user},
                                          {"c.npy", npy("(3, 4)", std::vector<float>(12, 1))},
                                          {"r.npy", npy("(4, 1)", {1, 2, 3, 4})},
                                          {"k.npy", npy("(4,)", {0, 1, 0, 1})}}));
  const Outcome uneven = run_program(folder, replaced(fit, "--run-dir run", "--run-dir other"));
  CHECK_MESSAGE(contains(uneven.err, "; inputs and labels need one row per example each"), uneven.err);
}

TEST_CASE("predictions of which two columns would have one name are refused as csv, and are arrays of an npz") {
  const TemporaryFolder folder;
  std::string text = with("units: 1, inputs: [all], name: rating", "units: 2, inputs: [all], name: r");
  for (const auto& [from, to] : {std::pair("rating: {label_shape: [1]}", "r: {label_shape: [2]}"),
                                 std::pair("clicked", "r_0"), std::pair("rating", "r")}) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
      text.replace(at, std::string(from).size(), to);
    }
  }
  write_file(folder / "a.yaml", text);
  const Outcome trained = run_program(folder, "fit a.yaml --run-dir run --set training.epochs=1");
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
  const Outcome csv = run_program(folder, "predict run --split validation");
  CHECK(csv.exit_code == 2);
  CHECK(csv.out.empty());
  CHECK(contains(csv.err, "two columns of the predictions would be named 'r_0'; write them with --output FILE.npz"));
  CHECK(run_program(folder, "predict run --split validation -o p.npz").exit_code == 0);
  CHECK(run_program(folder, "predict run --split validation -o p.jsonl").exit_code == 0);
}

TEST_CASE("labels that would have the name of another output are refused") {
  const TemporaryFolder folder;
  std::string text = kConfig;
  for (const auto& [from, to] : {std::pair("clicked", "a"), std::pair("rating", "a_label")}) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
      text.replace(at, std::string(from).size(), to);
    }
  }
  write_file(folder / "a.yaml", text);
  REQUIRE(run_program(folder, "fit a.yaml --run-dir run --set training.epochs=1").exit_code == 0);
  CHECK(run_program(folder, "predict run --split validation").out.starts_with("index,a_label,a\n"));
  for (const char* const file : {"p.csv", "p.jsonl"}) {
    const Outcome outcome = run_program(folder, fmt::format("predict run --split validation --labels -o {}", file));
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, "--labels: the labels of an output would be the "), outcome.err);
    CHECK(contains(outcome.err, " 'a_label', which the predictions themselves have; leave --labels out"));
    CHECK(!fs::exists(folder / file));
  }
}

TEST_CASE("a layer that is reused on another shape is refused with both shapes") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", with("    - concatenate: {inputs: [users, tower], name: all}",
                                     "    - reuse: {layer: tower, inputs: [tower, users], name: two}\n"
                                     "    - concatenate: {inputs: [users, tower], name: all}"));
  CHECK(contains(run_program(folder, "config check a.yaml").err, "expected one input, found 2"));
  write_file(folder / "a.yaml", with("context: {shape: [4]}}\n  layers:", "context: {shape: [5]}}\n  layers:"));
  std::string text = read_text_file(folder / "a.yaml");
  text.replace(text.find("    - concatenate: {inputs: [users, tower]"), 42,
               "    - reuse: {layer: tower, inputs: [tower], name: b}\n    - concatenate: {inputs: [users, b]");
  write_file(folder / "a.yaml", text);
  const Outcome outcome = run_program(folder, "config check a.yaml");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err,
                         "'tower/kernel' has the shape [5, 4], made for the inputs of 'tower', but these "
                         "inputs need [4, 4]"),
                outcome.err);
}

TEST_CASE("outputs, losses and metrics in another form are one error each, with the form that is meant") {
  struct Row {
    std::string from, to, answer;
  };
  const std::string losses =
      "loss:\n  rating: mean_squared_error\n  clicked: {type: binary_crossentropy, from_logits: true, weight: 0.2}\n";
  const std::string metrics = "metrics: {rating: [mean_absolute_error], clicked: [accuracy, auc]}";
  const Row rows[] = {
      {"outputs: [rating, clicked]", "outputs: {stars: rating, clicked: clicked}",
       "a.yaml:17:12: model.outputs: expected a list, each item a text, found the mapping {stars: rating, clicked: "
       "clicked}; list the layers' names, as [rating, clicked]; an output has its layer's name, which is set by `name` "
       "there\n1 error\n"},
      {"outputs: [rating, clicked]", "outputs: rating", "found the text 'rating'; write [rating]\n1 error\n"},
      {losses, "loss: [mse, bce]\n",
       "a.yaml:18:7: loss: expected a loss, found the list [mse, bce]; give each output its own by name, as {OUTPUT: "
       "mean_squared_error, OUTPUT: binary_crossentropy}\n1 error\n"},
      {metrics, "metrics: [[mae], [acc, auc]]",
       "metrics: expected a list, each item a metric, found the list [[mae], [acc, auc]]; give each output its own by "
       "name, as {OUTPUT: [mean_absolute_error], OUTPUT: [accuracy, auc]}\n1 error\n"},
      {"inputs: {user: {shape: []}, context: {shape: [4]}}\n  layers", "inputs: [user, context]\n  layers",
       "found the list [user, context]; name each with its shape, as {user: {shape: []}"},
      {"user: {shape: []}, context: {shape: [4]}}\n  layers",
       "user: {shape: [], name: me}, context: {shape: [4]}}\n  layers",
       "model.inputs.user.name: unknown key; known: shape\n"},
      {"accuracy, auc]}", "accuracy, auc: {name: a}]}", "auc.name: unknown key; known: curve, num_thresholds, "},
      {"users, tower], name: all}",
       "users, tower], name: all0}\n    - expression: {formula: \"x0 + x2\", inputs: [all0, all0], name: all}",
       "column 6: there is no 'x2', as the layer has 2 inputs, counted from x0; list more in `inputs`\n"},
  };
  const TemporaryFolder folder;
  for (const Row& row : rows) {
    write_file(folder / "a.yaml", with(row.from, row.to));
    const Outcome outcome = run_program(folder, "config check a.yaml");
    CAPTURE(row.to);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, row.answer), outcome.err);
  }
}

TEST_CASE("archives for validation take the arrays by name that the training data take") {
  const TemporaryFolder folder;
  const auto archive = [&](float label) {
    return data::zip({{"u.npy", npy("(2,)", {3, 4})},
                      {"c.npy", npy("(2, 4)", {1, 2, 3, 4, 5, 6, 7, 8})},
                      {"r.npy", npy("(2,)", {1, label})},
                      {"k.npy", npy("(2,)", {1, 0})}});
  };
  write_file(folder / "d.npz", archive(2));
  const std::string text = replaced(
      replaced(
          kConfig,
          "    format: synthetic\n    examples: 80\n    inputs: {user: {shape: [], below: 10}, context: {shape: "
          "[4]}}\n    labels: {rating: {label_shape: [1]}, clicked: {classes: 2}}\n",
          "    format: npz\n    file: d.npz\n    inputs: {user: u, context: c}\n    labels: {rating: r, clicked: k}\n"),
      "validation: {fraction: 0.25}", "validation: {format: npz, file: d.npz}");
  write_file(folder / "a.yaml", text);
  const Outcome outcome = run_program(folder, "fit a.yaml --run-dir run --set data.global_batch_size=2");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK_MESSAGE(!contains(outcome.err, "nothing is said here"), outcome.err);
  CHECK(run_program(folder, "eval run --split validation").exit_code == 0);

  // NaN is no label; where it is to be a missing one, the answer says how.
  write_file(folder / "d.npz", archive(std::numeric_limits<float>::quiet_NaN()));
  const Outcome refused = run_program(folder, "fit a.yaml --run-dir other --set data.global_batch_size=2");
  CHECK(refused.exit_code == 1);
  CHECK_MESSAGE(
      contains(refused.err, "where NaN is a missing label, write labels: {rating: {array: r, missing: ignore}}"),
      refused.err);
  write_file(folder / "a.yaml", replaced(text, "rating: r,", "rating: {array: r, missing: ignore},"));
  const Outcome ignored = run_program(folder, "fit a.yaml --run-dir third --set data.global_batch_size=2");
  CHECK_MESSAGE(ignored.exit_code == 0, ignored.err);
}

TEST_CASE("labels that are pictures of bytes are divided in the loss, as the answers say") {
  const TemporaryFolder folder;
  std::string pixels;
  for (int i = 0; i < 8 * 16; ++i) pixels += static_cast<char>((i * i + i / 16) % 16 * 17);
  write_file(folder / "images", data::idx(8, {8, 4, 4}, pixels));
  const std::string text = R"(data:
  global_batch_size: 4
  train: {format: idx, images: images, labels: images}
  preprocessing: [rescaling: {scale: 0.00392156862745098}]
model:
  input_shape: [4, 4]
  layers: [flatten, dense: {units: 16, activation: sigmoid}, reshape: {target_shape: [4, 4]}]
loss: LOSS
optimizer: adam
training: {epochs: 1}
)";
  const std::string formula = "{type: formula, formula: \"mean(square(y_true / 255 - y_pred))\"}";
  const auto fit = [&](const std::string& loss) {
    write_file(folder / "a.yaml", replaced(text, "LOSS", loss));
    fs::remove_all(folder / "run");
    return run_program(folder, "fit a.yaml --run-dir run");
  };
  CHECK(contains(fit("mean_squared_error").err, "bring the labels into its range, by a loss " + formula));
  CHECK(contains(fit("binary_crossentropy").err, "the loss of pictures of 0 to 255 can divide them: write " + formula));
  const Outcome outcome = fit(formula);
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK_MESSAGE(!contains(outcome.err, "warning"), outcome.err);
}

TEST_CASE("an output cannot be named as the key that says which loss one is") {
  const TemporaryFolder folder;
  std::string text = kConfig;
  for (std::size_t at = text.find("clicked"); at != std::string::npos; at = text.find("clicked", at)) {
    text.replace(at, 7, "type");
  }
  write_file(folder / "a.yaml", text);
  const Outcome outcome = run_program(folder, "config check a.yaml");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "model.outputs[1]: 'type' is the key that says which loss one is"), outcome.err);
  CHECK(contains(outcome.err, "1 error\n"));
}

TEST_CASE("a mistake has one error, not a second one that follows from it") {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& text) {
    write_file(folder / "a.yaml", text);
    return run_program(folder, "config check a.yaml").err;
  };
  struct Row {
    std::string from, to, answer;
  };
  const Row rows[] = {
      {"inputs: [context], name: tower", "input: [context], name: tower", "did you mean 'inputs'?"},
      {"concatenate: {inputs: [users, tower], name: all}", "dot: {axis: 1, inputs: [users, tower], name: all}",
       "did you mean 'axes'?"},
      {"concatenate: {inputs: [users, tower], name: all}", "dot: {inputs: [users, tower], name: all}",
       "missing key 'axes'"},
      {"outputs: [rating, clicked]", "outputs: [rating, cliked]", "did you mean 'clicked'?"},
      {"outputs: [rating, clicked]", "outputs: [0]", "name the layer, as [rating, clicked]"},
      {"outputs: [rating, clicked]", "outputs: []", "model.outputs: expected at least one item"},
      {"    - concatenate: {inputs: [users, tower], name: all}\n    - dense: {units: 1, inputs: [all], name: rating}\n "
       "   - "
       "dense: {units: 1, inputs: [all], name: clicked}\n",
       "    - concatenate: [users, tower]\n    - dense: {units: 1, name: rating}\n    - dense: {units: 1, name: "
       "clicked}\n",
       "write concatenate: {inputs: [users, tower]}"},
      {"dense: {units: 4, activation: relu, inputs: [context], name: tower}", "users: {inputs: [context], name: tower}",
       "it is the name of an earlier layer: to call that once more, write - reuse: {layer: users, inputs: [...]}"},
      {"weight: 0.2", "weight: -1", "expected a number of at least 0, found the number -1"},
      {"inputs: {user: {shape: [], below: 10}", "inputs: {usr: {shape: [], below: 10}", "did you mean 'user'?"},
  };
  for (const Row& row : rows) {
    const std::string found = check(with(row.from, row.to));
    CHECK_MESSAGE(contains(found, row.answer), found);
    CHECK_MESSAGE(contains(found, "1 error\n"), found);
  }
  // What does not follow is said at once.
  const std::string three =
      check(replaced(with("concatenate: {inputs: [users, tower]", "subtract: {inputs: [users, users, users]"),
                     "activation: relu, inputs: [context]", "activation: relu, inputs: [users]"));
  CHECK_MESSAGE(contains(three, "subtract: expected two inputs, found 3"), three);
  CHECK_MESSAGE(contains(three, "reads the input 'context'"), three);
}

/// A .npy file of float32.
std::string floats(const std::string& shape, const std::vector<float>& elements) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  const char length[] = {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return std::string("\x93NUMPY\x01\0", 8) + std::string(length, 2) + header +
         std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float));
}

struct ArchiveFixture {
  TemporaryFolder folder;
  static constexpr int kRows = 20;

  ArchiveFixture() {
    std::vector<float> u, c, v, zeros(kRows, 0.0f);
    for (int i = 0; i < kRows; ++i) {
      u.push_back(static_cast<float>(i % 10));
      for (int k = 0; k < 4; ++k) c.push_back(static_cast<float>(i * (k + 1) % 7));
      for (int k = 0; k < 2; ++k) v.push_back(static_cast<float>(i % (k + 2)) / 2);
    }
    const std::vector<data::ZipFile> files{{"u.npy", floats("(20,)", u)},
                                           {"c.npy", floats("(20, 4)", c)},
                                           {"v.npy", floats("(20, 2)", v)},
                                           {"w.npy", floats("(20,)", zeros)}};
    write_file(folder / "d.npz", data::zip(files));
    write_file(folder / "own.npz",
               data::zip({{"user.npy", floats("(20,)", u)}, {"context.npy", floats("(20, 4)", c)}}));
    write_file(folder / "a.yaml", config());
  }
  static std::string config() {
    std::string text = with(
        "    format: synthetic\n    examples: 80\n    inputs: {user: {shape: [], below: 10}, context: {shape: [4]}}\n  "
        "  "
        "labels: {rating: {label_shape: [1]}, clicked: {classes: 2}}\n",
        "    format: npz\n    file: d.npz\n    inputs: {user: u, context: c}\n    labels: {rating: v, clicked: w}\n");
    return replaced(text, "dense: {units: 1, inputs: [all], name: rating}",
                    "dense: {units: 2, inputs: [all], name: rating}");
  }
  std::string check(const std::string& from, const std::string& to) {
    write_file(folder / "b.yaml", replaced(config(), from, to));
    return run_program(folder, "config check b.yaml").err;
  }
};

TEST_CASE_FIXTURE(ArchiveFixture, "labels of several numbers are written beside the predictions") {
  REQUIRE(run_program(folder, "fit a.yaml --run-dir run").exit_code == 0);
  const Outcome labelled = run_program(folder, "predict run --split train --labels");
  CHECK_MESSAGE(
      labelled.out.starts_with("index,rating_0,rating_1,clicked,rating_label_0,rating_label_1,clicked_label\n"),
      labelled.out);
  REQUIRE(run_program(folder, "predict run --data d.npz --labels -o l.jsonl").exit_code == 0);
  CHECK(events_of(folder / "l.jsonl")[1].at("rating_label_1") == 0.5);
  // New arrays may have the names of the inputs, too.
  const Outcome own = run_program(folder, "predict run --data own.npz");
  CHECK_MESSAGE(own.exit_code == 0, own.err);
}

TEST_CASE_FIXTURE(ArchiveFixture, "what is wrong with an array has the place of its name") {
  CHECK(contains(check("context: c}", "context: cc}"), "b.yaml:6:23: data.train.inputs.context: " +
                                                           (folder / "d.npz").string() + ": there is no array 'cc'"));
  CHECK(contains(check("clicked: w}", "clicked: ww}"), "b.yaml:7:25: data.train.labels.clicked: "));
  write_file(folder / "b.yaml", replaced(config(), "context: c}", "context: cc}"));
  CHECK(contains(run_program(folder, "fit b.yaml").err, "b.yaml:6:23: data.train.inputs.context: "));
}

TEST_CASE_FIXTURE(ArchiveFixture, "weights that are all 0, and labels that are an input, are warned of") {
  CHECK(contains(check("clicked: w}\n", "clicked: w}\n    weights: {rating: w}\n"),
                 "data.train: the weights of 'rating' are all 0, so that nothing is learned from it"));
  CHECK(contains(check("clicked: w}", "clicked: {array: u, missing: ignore}}"), "label 2 of the output 'clicked'"));
  const std::string same = check("rating: v", "rating: c");
  CHECK_MESSAGE(contains(same, "one label has the shape [4]"), same);
  write_file(folder / "b.yaml",
             replaced(replaced(config(), "rating: v", "rating: c"), "dense: {units: 2, inputs: [all], name: rating}",
                      "dense: {units: 4, inputs: [all], name: rating}"));
  const std::string given = run_program(folder, "config check b.yaml").err;
  CHECK_MESSAGE(contains(given,
                         "the labels of 'rating' are the features of 'context', so that the model is given what "
                         "it is to predict"),
                given);
}

TEST_CASE_FIXTURE(ArchiveFixture, "labels by position are answered with their names, and nothing else") {
  const std::string listed = check("labels: {rating: v, clicked: w}", "labels: [v, w]");
  CHECK_MESSAGE(contains(listed, "name one for each output of the model, as {rating: r, clicked: k}"), listed);
  CHECK(!contains(listed, "taken from"));
  CHECK(contains(check("    inputs: {user: u, context: c}", "    x: {user: u, context: c}"), "did you mean 'inputs'?"));
}

const std::string kTowers = R"(data:
  global_batch_size: 10
  train: {format: synthetic, examples: 50, inputs: {left: {shape: [6]}, right: {shape: [6]}}, labels: {score: {label_shape: [1]}}}
model:
  inputs: {left: {shape: [6]}, right: {shape: [6]}}
  blocks:
    tower:
      layers:
        - dense: {units: 8, activation: relu}
        - dense: {units: 4}
  layers:
    - tower: {inputs: [left], name: one}
    - reuse: {layer: one, inputs: [right], name: two}
    - subtract: {inputs: [one, two]}
    - dense: {units: 1, name: score}
loss: mean_squared_error
optimizer: {type: adam, learning_rate: 0.01}
training: {epochs: 1}
)";

TEST_CASE("mistakes with blocks that are used twice are answered with what to write, once") {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& from, const std::string& to) {
    write_file(folder / "a.yaml", replaced(kTowers, from, to));
    return run_program(folder, "config check a.yaml").err;
  };
  struct Row {
    std::string from, to, answer;
  };
  const Row rows[] = {
      {"tower: {inputs", "towr: {inputs", "unknown layer 'towr'; did you mean the block 'tower'?"},
      {"tower: {inputs", "my_tower: {inputs", "did you mean the block 'tower'?"},
      {"reuse: {layer: one, ", "one: {", "write - reuse: {layer: one, inputs: [...]}"},
      {"inputs: [left]", "inputs: [lef]", "no earlier layer is named 'lef'"},
      {"inputs: [right]", "inputs: [rigt]", "no earlier layer is named 'rigt'"},
      {"inputs: [right]", "input: [right]", "did you mean 'inputs'?"},
      {"{inputs: [left]", "{input: [left]", "did you mean 'inputs'?"},
      {"layer: one, inputs: [right], name: two", "layer: twoo, inputs: [right], name: two",
       "no earlier layer or use of a block is named 'twoo'; known: dense, dense_1, one\n"},
      {"rate: 0.01}", "rate: 0.01, learning_rate_factors: [{match: \"one/*\", factor: 0.1}]}",
       "'one/*' names a use of a block, whose layers' variables are not called so; write 'dense/*', 'dense_1/*', or "
       "give "
       "the layers in the block a `name`, which gets the use's name in front, and match 'one_*/*'"},
      {"loss:", "variables: [{match: \"one_*/bias\", aggregation: sum}]\nloss:", "write 'dense/bias', 'dense_1/bias'"},
  };
  for (const Row& row : rows) {
    const std::string found = check(row.from, row.to);
    CHECK_MESSAGE(contains(found, row.answer), found);
    CHECK_MESSAGE(contains(found, "1 error\n"), found);
  }
  // What is advised is right.
  CHECK(!contains(check("rate: 0.01}", "rate: 0.01, learning_rate_factors: [{match: \"dense_1/*\", factor: 0.1}]}"),
                  "error"));
  const std::string named =
      replaced(replaced(kTowers, "activation: relu}", "activation: relu, name: a}"), "rate: 0.01}",
               "rate: 0.01, learning_rate_factors: [{match: \"one_*/*\", factor: 0.1}]}");
  write_file(folder / "a.yaml", named);
  CHECK(run_program(folder, "config check a.yaml").exit_code == 0);
}

TEST_CASE_FIXTURE(ArchiveFixture, "that data do not fit the model is said once, for all splits") {
  write_file(folder / "b.yaml", replaced(replaced(config(), "context: {shape: [4]}", "context: {shape: [3]}"),
                                         "  validation: {fraction: 0.25}", "  validation: {format: npz, file: d.npz}"));
  const std::string found = run_program(folder, "config check b.yaml").err;
  CHECK_MESSAGE(contains(found, "one example has the shape [4], but model.inputs.context.shape is [3]"), found);
  CHECK(contains(found, "1 error\n"));
}

}  // namespace
}  // namespace mirrortrain::testing::several_outputs_test
