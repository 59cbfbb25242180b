#include "config/names.h"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config/document.h"

namespace mirrortrain {
namespace {

enum class Ink { kRed, kBlue };

struct Circle {
  static constexpr std::string_view kName = "circle";
  static constexpr std::string_view kAliases = "disc, Ring";
  static constexpr auto kAdvice = std::to_array<config::Advice>({{"ellipse, oval", "write circle: {stretch: 2}"}});
  double radius = 1, stretch = 1;
  static config::Section<Circle> section() {
    return config::Section<Circle>("A circle.")
        .advice("diameter", "write radius, which is half of it")
        .key("radius", &Circle::radius, "The radius.", config::aliases("r, half_width"), config::greater_than(0),
             config::advice("0, none", "leave the circle out"))
        .key("stretch", &Circle::stretch, "How much wider than high.");
  }
};

struct Square {
  static constexpr std::string_view kName = "square";
  double width = 1;
  static config::Section<Square> section() {
    return config::Section<Square>("A square.").key("width", &Square::width, "The width.", config::aliases("size"));
  }
};

using Shape = std::variant<Circle, Square>;

struct Drawing {
  std::vector<Shape> shapes;
  Ink ink = Ink::kRed;
  static config::Section<Drawing> section() {
    return config::Section<Drawing>("A drawing.")
        .key("shapes", &Drawing::shapes, "What is drawn.", config::aliases("figures"))
        .key("ink", &Drawing::ink, "The color.");
  }
};

std::string error_in(std::string_view text) {
  config::Errors errors;
  config::Document document = config::load_text(text, "a.yaml", {}, errors);
  config::read<Drawing>(document, errors);
  const std::string all = errors.text();
  return all.substr(0, all.find('\n'));
}

}  // namespace
}  // namespace mirrortrain

template <>
struct mirrortrain::config::EnumNames<mirrortrain::Ink> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::Ink>>(
      {{"red", mirrortrain::Ink::kRed}, {"blue", mirrortrain::Ink::kBlue}});
  static constexpr auto aliases =
      std::to_array<std::pair<std::string_view, std::string_view>>({{"blue", "azure, navy"}});
  static constexpr auto advice = std::to_array<Advice>({{"null, clear", "leave it out"}});
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Shape> {
  static constexpr std::string_view noun = "a shape";
  static constexpr auto advice = std::to_array<Advice>({{"group", "list its shapes alone"}});
};

using namespace mirrortrain;

TEST_CASE("keys, types and values are found by their aliases") {
  CHECK(error_in("figures: []") == "a.yaml:1:1: figures: unknown key; did you mean 'shapes'?");
  CHECK(error_in("shapes: [disc]") == "a.yaml:1:10: shapes[0]: unknown shape 'disc'; did you mean 'circle'?");
  CHECK(error_in("shapes: [art.round.RING]") ==
        "a.yaml:1:10: shapes[0]: unknown shape 'art.round.RING'; did you mean 'circle'?");
  CHECK(error_in("shapes: [circle: {halfWidth: 2}]") ==
        "a.yaml:1:19: shapes[0].circle.halfWidth: unknown key; did you mean 'radius'?");
  CHECK(error_in("shapes: [circle: {size: 2}]") ==
        "a.yaml:1:19: shapes[0].circle.size: unknown key; known: radius, stretch");
  CHECK(error_in("ink: navy") ==
        "a.yaml:1:6: ink: expected one of red, blue, found the text 'navy'; did you mean 'blue'?");
}

TEST_CASE("a name's own spelling goes before another's alias, and the first of two aliases counts") {
  const std::vector<config::Name> names = {{"width", "size, height"}, {"length", "size"}, {"height"}};
  CHECK(config::suggestion("Height", names) == "; did you mean 'height'?");
  CHECK(config::suggestion("size", names) == "; did you mean 'width'?");
  CHECK(config::suggestion("sized", names) == "");
  CHECK(config::suggestion("", names) == "");
  const std::vector<config::Name> others = config::with_aliases({"length", "depth"}, names);
  CHECK(config::suggestion("size", others) == "; did you mean 'length'?");
  CHECK(others[1].aliases.empty());
}

TEST_CASE("advice is given on names and values without an equivalent, and on keys wherever they are written") {
  CHECK(error_in("shapes: [Oval]") == "a.yaml:1:10: shapes[0]: unknown shape 'Oval'; write circle: {stretch: 2}");
  CHECK(error_in("shapes: [group]") == "a.yaml:1:10: shapes[0]: unknown shape 'group'; list its shapes alone");
  CHECK(error_in("shapes: [circle: {radius: 0}]") ==
        "a.yaml:1:27: shapes[0].circle.radius: expected a number above 0, found the number 0; leave the circle out");
  CHECK(error_in("ink: clear") == "a.yaml:1:6: ink: expected one of red, blue, found the text 'clear'; leave it out");
  CHECK(error_in("ink: null") == "a.yaml:1:6: ink: expected one of red, blue, found null; leave it out");
  for (const char* text : {"diameter: 2", "shapes: [square: {diameter: 2}]"}) {
    CHECK(error_in(text).ends_with("diameter: unknown key; write radius, which is half of it"));
  }
}

TEST_CASE("the sources of config name no layer, loss, metric, optimizer, format or framework") {
  const std::regex word(
      "(keras|tensorflow|pytorch|torch|sklearn|jax|onnx|numpy|nn\\.|dense|linear|conv[0-9]d|max_?pool|pooling|lstm|gru|"
      "dropout|embedding|batch_?norm|softmax|sigmoid|relu|glorot|kaiming|crossentropy|mean_squared|huber|hinge|mse|"
      "accuracy|f1_score|auc|adam|sgd|rmsprop|nesterov|momentum|epsilon|units|filters|kernel_size|strides|"
      "learning_rate|cosine_decay|early_stopping|mirrored|bfloat16|float16|csv|idx|npy|npz|tfrecord|parquet|hdf5|mnist|"
      "cifar|imagenet|safetensors|one_hot|rescaling|normalization|random_flip)",
      std::regex::icase | std::regex::optimize);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MIRRORTRAIN_SOURCE_DIR "/src/config")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cpp") continue;
    ++files;
    std::ifstream stream(entry.path());
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    for (std::sregex_iterator match(text.begin(), text.end(), word), end; match != end; ++match) {
      const auto before = std::prev(text.begin() + match->position(), match->position() > 0 ? 1 : 0);
      const auto after = text.begin() + match->position() + match->length();
      const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
      if ((match->position() > 0 && is_letter(*before)) || (after != text.end() && is_letter(*after))) continue;
      FAIL_CHECK(entry.path().filename().string() << " names " << match->str() << ": declare it beside what it names");
    }
  }
  CHECK(files > 30);
}
