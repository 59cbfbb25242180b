// What init writes for tables with ids, pictures and texts: a model with several inputs, which trains as it is.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/utf8.h"
#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::init_inputs_test {
namespace {

/// Orders in a shop: who bought what, in which weather, with a photo and a review. The pictures are circles and
/// triangles.
struct Fixture {
  TemporaryFolder folder;
  std::mt19937 random{11};
  std::vector<fs::path> pictures;

  static constexpr int kRows = 600, kUsers = 40, kItems = 30;

  Fixture() {
    fs::create_directory(folder / "shop");
    fs::create_directory_symlink(repository_file("data/tiny-shapes/train"), folder / "shop/photos");
    for (const char* kind : {"circle", "triangle"}) {
      for (const auto& entry : fs::directory_iterator(folder / "shop/photos" / kind)) {
        pictures.push_back(fs::path("photos") / kind / entry.path().filename());
      }
    }
    std::ranges::sort(pictures);
  }

  struct Row {
    int user, item;
    bool is_good, is_circle;
    double price;
    std::string text;
  };
  Row row() {
    Row row{};
    row.user = static_cast<int>(random() % kUsers);
    row.item = static_cast<int>(random() % kItems);
    row.is_good = random() % 2 == 0;
    row.price = 5 + static_cast<double>(random() % 900) / 10;
    const fs::path& photo = pictures[random() % pictures.size()];
    row.is_circle = photo.string().find("circle") != std::string::npos;
    row.text = fmt::format("{},item-{:02},{:.2f},{},{},\"", 9'000'000'000 + 1'234'567 * row.user, row.item, row.price,
                           random() % 3 == 0 ? "sun" : "rain", photo.string());
    const char* const words[] = {"the", "box", "came", "on", "monday", "with", "a", "cable", "for", "my", "sister"};
    const char* const good[] = {"great", "lovely", "excellent"};
    const char* const bad[] = {"awful", "broken", "dreadful"};
    for (int i = 0; i < 7; ++i) row.text += std::string(words[random() % std::size(words)]) + " ";
    row.text += row.is_good ? good[random() % 3] : bad[random() % 3];
    row.text += fmt::format(" {}.\"", words[random() % std::size(words)]);
    return row;
  }
  /// The table whose label is `rule` of the row.
  template <class Rule>
  void write(const Rule& rule) {
    std::string text = "order_id,user_id,item,price,weather,photo,review,kept\n";
    for (int i = 0; i < kRows; ++i) {
      const Row made = row();
      text += fmt::format("{},{},{}\n", i + 1, made.text, rule(made));
    }
    write_file(folder / "shop/orders.csv", text);
  }
  std::string init(const std::string& options = "") {
    const Outcome made = run_program(folder, "init shop/orders.csv " + options);
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    write_file(folder / "made.yaml", made.out);
    return made.out;
  }
  /// The last epoch's validation figure.
  double fit(const std::string& metric) {
    fs::remove_all(folder / "run");
    const Outcome trained = run_program(folder, "fit made.yaml --run-dir run --set logging.report=false");
    REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
    CHECK_MESSAGE(trained.err.find("warning") == std::string::npos, trained.err);
    double value = 0;
    for (const nlohmann::json& event : events_of(folder / "run/metrics.jsonl")) {
      if (event["event"] == "epoch") value = event["validation"]["metrics"][metric];
    }
    return value;
  }
};

const char* yes_if(bool condition) { return condition ? "yes" : "no"; }

TEST_CASE_FIXTURE(Fixture, "ids, pictures, texts and other columns become inputs, and the comments say why") {
  write([](const Row& row) { return yes_if(row.user * 2 + row.item + (row.is_good ? 30 : 0) > 70); });
  const std::string made = init();
  for (const char* part : {
           "# order_id is left out: it numbers the rows\n",
           "# user_id: 40 different whole numbers in 600 rows: ids, as an embedding\n",
           "# item: 30 different words in 600 rows: ids, as an embedding\n",
           "# photo: the paths of 48 pictures, through convolutions\n",
           "# review: 600 different texts in 600 rows, read as bytes\n",
           "user_id: user_id, item: item, ",
           "review: {column: review, as: text,",
           "features: [price, weather]}",
           "user_id: {index: {unknown: own_class}}",
           "weather: one_hot}",
           "- rescaling: {scale: 0.00392156862745098, input: photo}\n",
           "- normalization: {adapt: true, input: features}\n",
           "user_id: {shape: []}, item: {shape: []}, photo: {shape: [",
           "- embedding: {input_dim: 41, output_dim: 16, inputs: [user_id],",
           "- embedding: {input_dim: 31, output_dim: 16, inputs: [item],",
           "- embedding: {input_dim: 256, output_dim: 16, inputs: [review]}\n",
           "- concatenate: {inputs: [user_id_vector, item_vector, photo_vector,",
           "- dense: {units: 2}",
           "loss: {type: sparse_categorical_crossentropy, from_logits: true}\n",
       }) {
    CHECK_MESSAGE(contains(made, part), part << "\n" << made);
  }
  for (std::size_t at = 0; at < made.size(); at = made.find('\n', at) + 1) {
    CHECK(display_width(made.substr(at, made.find('\n', at) - at)) <= 80);
  }
  const Outcome dry = run_program(folder, "fit made.yaml --dry-run");
  CHECK_MESSAGE(dry.exit_code == 0, dry.err);
  CHECK_MESSAGE(dry.err.find("warning") == std::string::npos, dry.err);
  CHECK(fit("accuracy") > 0.8);

  // Somebody who never bought anything buys what was never sold.
  write_file(folder / "shop/new.csv",
             "user_id,item,price,weather,photo,review\n"
             "123456789012345,item-99,12.5,sun,photos/circle/00.jpg,\"lovely box, for my sister\"\n");
  const Outcome predicted = run_program(folder, "predict run --data shop/new.csv");
  CHECK_MESSAGE(predicted.exit_code == 0, predicted.err);
  CHECK(contains(predicted.out, "\n0,"));
}

TEST_CASE_FIXTURE(Fixture, "each of the inputs is learned from") {
  SUBCASE("whole numbers as ids") {
    write([](const Row& row) { return yes_if(row.user * 7 % 10 < 5); });
  }
  SUBCASE("words as ids") {
    write([](const Row& row) { return yes_if(row.item * 7 % 10 < 5); });
  }
  SUBCASE("pictures") {
    write([](const Row& row) { return yes_if(row.is_circle); });
  }
  SUBCASE("texts") {
    write([](const Row& row) { return yes_if(row.is_good); });
  }
  SUBCASE("numbers") {
    write([](const Row& row) { return yes_if(row.price > 50); });
  }
  init();
  CHECK(fit("accuracy") > 0.8);
}

TEST_CASE_FIXTURE(Fixture, "numbers as labels are predicted from several inputs") {
  write([](const Row& row) { return fmt::format("{:.2f}", 1000 + row.user * 37 % 40 + row.price); });
  CHECK(contains(init(), "loss: mean_squared_error\n"));
  CHECK(fit("mean_absolute_error") < 15);  // the labels' mean is off by about 24
}

TEST_CASE_FIXTURE(Fixture, "a table of one text, picture or id beside the label has one input") {
  const std::pair<std::string, std::string> rows[] = {{"photo,kept\n", "inputs: {photo: {shape: ["},
                                                      {"user,kept\n", "inputs: {user: {shape: []}}"}};
  for (const auto& [header, expected] : rows) {
    std::string text = header;
    for (int i = 0; i < 200; ++i) {
      const bool is_photo = header.starts_with("photo");
      const std::size_t picture = random() % pictures.size();
      text += is_photo ? pictures[picture].string() : fmt::format("{}", i % 40);
      text += fmt::format(",{}\n", yes_if(is_photo ? picture < pictures.size() / 2 : i % 40 % 3 == 0));
    }
    write_file(folder / "shop/orders.csv", text);
    const std::string made = init();
    CHECK_MESSAGE(contains(made, expected), made);
    CHECK_FALSE(contains(made, "concatenate"));
    CHECK(fit("accuracy") > 0.8);
  }
}

TEST_CASE_FIXTURE(Fixture, "rows whose picture does not exist are skipped, and empty cells of ids and texts are read") {
  std::string text = "client,photo,notes,kept\n";
  for (int i = 0; i < 200; ++i) {
    const Row made = row();
    const std::string review = made.text.substr(made.text.find('"'));
    text += fmt::format("{},{},{},{}\n", i % 9 == 0 ? "" : fmt::format("c{}", made.user),
                        i % 50 == 0 ? "photos/gone.png" : pictures[random() % pictures.size()].string(),
                        i % 11 == 0 ? "" : review, yes_if(made.is_good));
  }
  write_file(folder / "shop/orders.csv", text);
  const std::string made = init();
  CHECK(contains(made, "# photo: rows without a picture, 4, are skipped\n"));
  CHECK(contains(made, "on_bad_example: skip\n"));
  CHECK(contains(made, "missing: mean}"));
  const Outcome trained = run_program(folder, "fit made.yaml --run-dir run --set training.epochs=1");
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.err);
  CHECK(contains(trained.err + trained.out, "4 of 200 examples"));
}

TEST_CASE_FIXTURE(Fixture, "columns with names of layers, of other inputs or without a name get inputs of good names") {
  for (const bool has_header : {true, false}) {
    std::string text = has_header ? "input,features,my user\u00a0\u200bid,dense,features_vector,features,y\n" : "";
    for (int i = 0; i < 200; ++i) {
      text += fmt::format("{}.5,w{},u{},d{},q{},{},{}\n", i % 17, random() % 30, random() % 30, random() % 30,
                          random() % 30, random() % 30, yes_if(random() % 2 == 0));
    }
    write_file(folder / "shop/orders.csv", text);
    const std::string made = init();
    CHECK_MESSAGE(contains(made, has_header ? "my_user__id: " : "column_2: 2"), made);
    const Outcome trained = run_program(folder, "fit made.yaml --run-dir run --set training.epochs=1");
    CHECK_MESSAGE(trained.exit_code == 0, trained.err << made);
    fs::remove_all(folder / "run");
  }
}

}  // namespace
}  // namespace mirrortrain::testing::init_inputs_test
