#include "config/schema.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/example.h"

using namespace mirrortrain;
using nlohmann::json;

namespace {

const json& schema() {
  static const json parsed = parse_json<json>(config::json_schema(config::schema<example::Root>(), "an example"));
  return parsed;
}

const json& definition(const json& reference) {
  return schema().at(json::json_pointer(reference.at("$ref").get<std::string>().substr(1)));
}

/// A model and its loss, unless there is state; no two limits.
struct Related {
  std::optional<std::string> model, loss, state;
  std::optional<double> norm, value;
  static config::Section<Related> section() {
    const auto unless_state = config::required_unless("state", {"model", "loss"});
    return config::Section<Related>("Keys that concern each other.")
        .key("model", &Related::model, "A model.", unless_state)
        .key("loss", &Related::loss, "A loss.", unless_state)
        .key("state", &Related::state, "State.")
        .key("norm", &Related::norm, "A limit.")
        .key("value", &Related::value, "Another limit.", config::excludes("norm"));
  }
};

/// Layers that are written out before they are read.
struct Network {
  config::Value blocks;
  std::vector<config::Located<example::Layer>> layers;
  std::optional<std::string> extends;
  static config::Section<Network> section() {
    return config::Section<Network>("A network.")
        .key("extends", &Network::extends, "Another file.")
        .key("blocks", &Network::blocks, "Blocks.")
        .key("layers", &Network::layers, "Layers.", config::required, config::written_out("repeat", "blocks"));
  }
};

/// The same section twice.
struct Penalties {
  double l1 = 0.0;
  static config::Section<Penalties> section() {
    return config::Section<Penalties>("Penalties.").key("l1", &Penalties::l1, "A factor.");
  }
};
struct Penalized {
  Penalties kernel_penalties, bias_penalties;
  static config::Section<Penalized> section() {
    return config::Section<Penalized>("What is penalized.")
        .key("kernel_penalties", &Penalized::kernel_penalties, "Of the kernel.")
        .key("bias_penalties", &Penalized::bias_penalties, "Of the bias.");
  }
};

}  // namespace

TEST_CASE("the JSON Schema names its draft and refuses unknown keys") {
  CHECK(schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(schema()["title"] == "an example");
  CHECK(schema()["additionalProperties"] == false);
}

TEST_CASE("keys have type, range, default and description") {
  const json& threads = schema()["properties"]["threads"];
  CHECK(threads["type"] == "integer");
  CHECK(threads["minimum"] == 1);
  CHECK(threads["default"] == 2);
  CHECK(threads["description"] == "Threads.");
  CHECK(schema()["properties"]["seed"]["minimum"] == 0);
  CHECK(schema()["properties"]["precision"]["enum"] == json({"float32", "mixed_bfloat16"}));
  const json& save = schema()["properties"]["save"];
  CHECK(save["anyOf"][0]["properties"]["mode"]["enum"] == json({"min", "max"}));
  CHECK(save["anyOf"][1]["type"] == "null");
  CHECK(save["default"] == nullptr);
}

TEST_CASE("a choice lists its names and its alternatives' keys") {
  const json& layer = definition(schema()["properties"]["layers"]["items"]);
  const json& forms = layer["anyOf"];
  CHECK(forms[0]["enum"] == json({"conv2d", "flatten"}));  // dense needs its units
  const json& dense = forms[1]["properties"]["dense"];
  CHECK(dense["required"] == json({"units"}));
  CHECK(dense["properties"]["units"]["minimum"] == 1);
  CHECK(dense["properties"].contains("name"));
  CHECK(dense["additionalProperties"] == false);
  const json& optimizer = definition(schema()["properties"]["optimizer"]);
  CHECK(optimizer["anyOf"][2]["properties"]["type"]["const"] == "sgd");
  CHECK(optimizer["anyOf"][2]["required"] == json({"type"}));
}

TEST_CASE("arrays have their length, and a scalar where it fills them") {
  const json& conv = definition(schema()["properties"]["layers"]["items"])["anyOf"][2]["properties"]["conv2d"];
  const json& size = conv["anyOf"][0]["properties"]["kernel_size"];
  CHECK(size["anyOf"][0]["type"] == "integer");
  CHECK(size["anyOf"][1]["minItems"] == 2);
  CHECK(size["anyOf"][1]["maxItems"] == 2);
  CHECK(size["default"] == json({1, 1}));
}

TEST_CASE("the reference has each key with type, default and help") {
  const std::string text = config::reference(config::schema<example::Root>());
  CHECK(text.find("| `threads` | an integer of at least 1 | `2` | Threads. |") != std::string::npos);
  CHECK(text.find("| `units` | an integer of at least 1 | *required* | Outputs. |") != std::string::npos);
  CHECK(text.find("| `layers` | list: [a layer](#layer) | `[]` | The model's layers. |") != std::string::npos);
  CHECK(text.find("### optimizer: adam") != std::string::npos);
}

TEST_CASE("the reference begins with links to each section and to each name of a choice") {
  const std::string text = config::reference(config::schema<example::Root>());
  CHECK(text.find("\n- [optimizer](#optimizer): [") < text.find("\n## optimizer\n"));
  CHECK(text.find("[adam](#optimizer-adam)") < text.find("\n### optimizer: adam\n"));
}

TEST_CASE("the reference describes a section once that several keys hold, by the words that their names share") {
  const std::string text = config::reference(config::schema<Penalized>());
  CHECK(text.find("| `bias_penalties` | [section](#penalties) |") != std::string::npos);
  const std::string heading = "\n## penalties\n\nPenalties.\n\nOf `kernel_penalties` and `bias_penalties`.\n";
  CHECK(text.find(heading) != std::string::npos);
  CHECK(text.find("\n## ") == text.rfind("\n## "));
  CHECK(text.find("\n- [penalties](#penalties)\n") != std::string::npos);
}

TEST_CASE("types are named in words") {
  using config::without_article;
  CHECK(without_article("an optimizer") == "optimizer");
  CHECK(without_article("a data source") == "data source");
  CHECK(without_article("a number or a schedule") == "schedule");
  CHECK(without_article("devices") == "devices");
}

TEST_CASE("keys that belong together or exclude each other do so in the schema") {
  const json related = parse_json<json>(config::json_schema(config::schema<Related>(), "related"));
  CHECK(related["allOf"] == parse_json<json>(R"([
    {"not": {"type": "object", "required": ["norm", "value"],
             "properties": {"norm": {"not": {"type": "null"}}, "value": {"not": {"type": "null"}}}}},
    {"anyOf": [{"required": ["model", "loss"],
                "properties": {"model": {"not": {"enum": [null, []]}}, "loss": {"not": {"enum": [null, []]}}}},
               {"required": ["state"],
                "properties": {"state": {"not": {"enum": [null, false, []]}}, "model": {"enum": [null, []]},
                               "loss": {"enum": [null, []]}}}]}])"));
}

TEST_CASE("in blocks and repeats the names of keys are checked, and uses of blocks where there can be blocks") {
  const json whole = parse_json<json>(config::json_schema(config::schema<Network>(), "network"));
  const json &network = whole["else"], &part = whole["then"];
  const json& by_blocks = network["allOf"][0];
  CHECK(by_blocks["if"]["required"] == json({"blocks"}));
  const json& without = by_blocks["else"]["properties"]["layers"]["items"]["anyOf"];
  const json& with = by_blocks["then"]["properties"]["layers"]["items"]["anyOf"];
  CHECK(without.size() == 2);  // a layer, a repeat
  REQUIRE(with.size() == 3);
  CHECK(part["properties"]["layers"]["items"]["anyOf"].size() == 3);  // the other file may have the blocks

  const json& use = with[2]["anyOf"][1];
  CHECK(use["maxProperties"] == 1);
  const json taken = use["propertyNames"]["not"]["enum"];
  CHECK(taken == json({"repeat", "input", "dense", "conv2d", "flatten"}));
  CHECK(network["properties"]["blocks"]["propertyNames"]["not"]["enum"] == taken);
  CHECK(network["properties"]["blocks"]["additionalProperties"]["additionalProperties"] == false);

  const json& repeat = without[1]["properties"]["repeat"];
  CHECK(repeat["required"] == json({"times", "layers"}));
  CHECK(repeat["additionalProperties"] == false);
  CHECK(repeat["properties"]["layers"]["items"]["$ref"] == "#/$defs/layer_inside");
  const json& dense = whole["$defs"]["layer_inside"]["anyOf"][0]["anyOf"][1]["properties"]["dense"];
  CHECK(dense["required"] == json({"units"}));
  CHECK(dense["additionalProperties"] == false);
  CHECK(dense["properties"]["units"] == true);  // or a parameter
  CHECK(whole["$defs"]["layer_inside"]["anyOf"][2] == false);
  CHECK(whole["$defs"]["layer_or_block_inside"]["anyOf"][2].contains("anyOf"));
}
