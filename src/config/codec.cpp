#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "config/containers.h"
#include "config/map.h"
#include "config/read_yaml.h"

namespace mirrortrain::config::detail {
namespace {

void check_text(const Node& node, const std::string& text) {
  const Rules& rules = node.rules();
  if (rules.non_empty && text.empty()) {
    node.error("expected a text, found the empty text");
  } else if (!rules.names.empty() && std::find(rules.names.begin(), rules.names.end(), text) == rules.names.end()) {
    node.error(fmt::format("expected {}, found {}{}", words(Schema::Kind::kText, node), describe(node.value()),
                           suggestion(text, rules.names)));
  }
}

bool want_text(const Node& node, Schema::Kind kind) {
  const Meaning meaning = meaning_of(node.value());
  if (meaning == Meaning::kText) return true;
  const bool scalar = node.value().is_scalar();
  if (const std::string advice = advice_on_value(node); !advice.empty()) {
    node.wrong(words(kind, node), advice);
    return false;
  }
  node.wrong(words(kind, node), scalar && node.rules().names.empty() ? "put it in quotes if it is meant as text" : "");
  return false;
}

/// "~/data" as a shell would read it.
std::string in_home(const std::string& text) {
  const char* const home = std::getenv("HOME");
  return home != nullptr && text.starts_with("~/") ? home + text.substr(1) : text;
}

// Resolves links and ".." as the system would; nothing has to exist.
std::string resolved(const std::filesystem::path& path) {
  std::error_code failed;
  const auto whole = std::filesystem::absolute(path, failed);
  if (failed) return path.string();
  const bool climbs = std::find(whole.begin(), whole.end(), "..") != whole.end();
  if (!climbs) return whole.lexically_normal().string();
  const auto canonical = std::filesystem::weakly_canonical(whole, failed);
  return (failed ? whole : canonical).string();
}

}  // namespace

std::string words(Schema::Kind kind, const Node& node) { return in_words(scalar_schema(kind, node.rules())); }

Schema scalar_schema(Schema::Kind kind, const Rules& rules) {
  Schema schema;
  schema.kind = kind;
  schema.rules = rules;
  return schema;
}

bool is_bare_list(const Value& value) {
  if (!value.is_scalar() || value.quoted() || !value.place().from_set()) return false;
  return meaning_of(value) == Meaning::kText || meaning_of(value) == Meaning::kInteger ||
         meaning_of(value) == Meaning::kNumber;
}

namespace {

/// A number given instead of a list, if it may be the number of items: `devices: 2`; otherwise 0.
int count_meant(const Value& value) {
  const std::string& text = value.text();
  const bool is_count = text.size() == 1 && text[0] >= '1' && text[0] <= '9';
  return is_count ? text[0] - '0' : 0;
}

/// "8, 8, 3" for `(8, 8, 3)` and `8x8x3`; other texts as they are.
std::string without_other_brackets(std::string text) {
  if (text.starts_with('(') && text.ends_with(')')) return text.substr(1, text.size() - 2);
  const bool is_product = text.find_first_not_of("0123456789x") == std::string::npos && text.find('x') != text.npos;
  for (std::size_t at = 0; is_product && (at = text.find('x', at)) != std::string::npos;) text.replace(at, 1, ", ");
  return text;
}

/// "write - circle: {radius: 3}" for a mapping whose entries are each a valid item; "" for others.
std::string as_items(const Node& node, const ReadList& read, const Errors& errors) {
  std::vector<Value> items;
  std::string text;
  for (const Value::Entry& entry : node.value().entries()) {
    items.push_back(Value::mapping({entry}, entry.key_place));
    text += fmt::format("{}- {}: {}", text.empty() ? "" : ", ", entry.key, flow_text(entry.value));
  }
  read(node.with_value(Value::sequence(std::move(items), node.value().place())));
  if (!errors.empty() || text.empty()) return "";
  return node.value().entries().size() == 1 ? "write " + text : "begin each with a '-' on a line of its own: " + text;
}

}  // namespace

std::string list_hint(const Node& node, const ReadList& read, const MeantItem& meant) {
  Errors errors;
  std::unordered_map<std::string, Place> origins;
  Reading trial{errors, origins, node.reading().replaced};
  const Node alone = node.on_trial(trial);
  if (node.value().is_mapping()) return as_items(alone, read, errors);
  if (!node.value().is_scalar() || node.value().text().find_first_of("[]\n") != std::string::npos) return "";
  const Value value =
      Value::scalar(without_other_brackets(node.value().text()), node.value().quoted(), node.value().place());
  Value list = value.quoted() ? Value::sequence({value}, value.place()) : with_brackets(alone.with_value(value));
  if (!list.is_sequence()) return "";
  const std::string one = meant ? meant(value) : "";
  if (const auto count = count_meant(value); count > 0 && one.ends_with(":" + value.text())) {
    std::vector<Value> items;
    for (int i = 0; i < count; ++i) {
      items.push_back(Value::scalar(one.substr(0, one.size() - value.text().size()) + std::to_string(i), false));
    }
    return fmt::format("write {}", flow_text(Value::sequence(std::move(items)), 200));
  }
  for (Value& item : list.items()) {
    const std::string text = meant && item.is_scalar() ? meant(item) : "";
    if (!text.empty()) item = Value::scalar(text, false, item.place());
  }
  read(alone.with_value(list));
  return errors.empty() ? fmt::format("write {}", flow_text(list)) : "";
}

std::string as_numbered(const Value& value) {
  const auto is_number = [](const Value& item) { return as_number(item).has_value(); };
  if (!value.is_sequence() || value.items().empty() || !std::ranges::all_of(value.items(), is_number)) return "";
  std::vector<Value::Entry> entries;
  for (const Value& item : value.items()) entries.push_back({std::to_string(entries.size()), item.place(), item});
  return fmt::format("write {}", flow_text(Value::mapping(std::move(entries)), 200));
}

Value with_brackets(const Node& node) {
  const Place& place = node.value().place();
  auto list =
      read_yaml("[" + node.value().text() + "]", {place.source, false, place.column, node.path()}, node.errors());
  return list ? std::move(*list) : Value::sequence({}, place);
}

/// "write [24, 24]" for the number 24 where a list of two numbers is expected; "" for other values.
std::string repeated_number(const Value& value, std::size_t length, const Schema& list) {
  const Schema::Kind kind = list.parts[0].kind;
  const bool is_of_numbers = kind == Schema::Kind::kInteger || kind == Schema::Kind::kNumber;
  const auto number = as_number(value);
  if (!is_of_numbers || !number || !within(list.rules, *number)) return "";
  return fmt::format("write [{}]", fmt::join(std::vector<std::string>(length, value.text()), ", "));
}

bool check_list(const Node& node, std::optional<std::size_t> length, const std::function<Schema()>& schema,
                const std::function<std::string()>& hint) {
  if (!node.value().is_sequence()) {
    std::string how = hint();
    if (how.empty()) how = advice_on_value(node);
    if (how.empty() && length) how = repeated_number(node.value(), *length, schema());
    node.wrong(in_words(schema()), how);
    return false;
  }
  const std::size_t count = node.value().items().size();
  if (length && count != *length) {
    node.wrong(in_words(schema()));
    return false;
  }
  if (node.rules().non_empty && count == 0) {
    node.error("expected at least one item, found the empty list []" + advice_on("[]", node.rules().advice));
    return false;
  }
  return true;
}

Schema list_schema(Schema item, const Rules& rules, std::optional<std::size_t> length) {
  Schema schema = scalar_schema(Schema::Kind::kList, rules);
  schema.parts.push_back(std::move(item));
  schema.length = length;
  return schema;
}

Schema optional_schema(Schema inner) {
  Schema schema = scalar_schema(Schema::Kind::kEither, {});
  schema.parts.push_back(std::move(inner));
  schema.parts.push_back(scalar_schema(Schema::Kind::kNull, {}));
  return schema;
}

void read_text(const Node& node, std::string& out) {
  if (!want_text(node, Schema::Kind::kText)) return;
  out = node.value().text();
  check_text(node, out);
}

void read_path(const Node& node, Path& out) {
  if (!want_text(node, Schema::Kind::kPath)) return;
  const std::string& text = node.value().text();
  if (text.empty()) return node.error("expected a path, found the empty text");
  const Place& place = node.value().place();
  const std::filesystem::path folder =
      place.given() && !place.from_set() ? std::filesystem::path(*place.source).parent_path() : "";
  out.text = resolved(folder / in_home(text));
  if (node.reading().files != nullptr) node.reading().files->push_back({out.text, place, node.path()});
}

std::optional<std::size_t> read_name(const Node& node, const Schema& names) {
  if (meaning_of(node.value()) != Meaning::kText) {
    node.wrong(in_words(names), advice_on_value(node, names.advice));
    return std::nullopt;
  }
  const std::string& text = node.value().text();
  const auto found = std::ranges::find(names.names, text, &Name::text);
  if (found != names.names.end()) return static_cast<std::size_t>(found - names.names.begin());
  if (const std::string advice = advice_on_value(node, names.advice); !advice.empty()) {
    node.wrong(in_words(names), advice);
    return std::nullopt;
  }
  node.error(
      fmt::format("expected {}, found {}{}", in_words(names), describe(node.value()), suggestion(text, names.names)));
  return std::nullopt;
}

}  // namespace mirrortrain::config::detail
