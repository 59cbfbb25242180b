#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "config/document.h"
#include "config/schema.h"

namespace mirrortrain::config {
namespace {

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string default_of(const Schema::Key& key) {
  if (key.required) return "*required*";
  const bool nested = key.standard.is_mapping() && !key.standard.entries().empty();
  if (nested) {
    const Value::Entry& first = key.standard.entries()[0];
    const Schema* choice = &key.type;
    while (choice->kind == Schema::Kind::kEither) choice = &choice->parts[0];
    if (choice->kind != Schema::Kind::kChoice) return "";
    return fmt::format("`{}`", choice->tag.empty() ? first.key : first.value.text());
  }
  std::string text = to_yaml(key.standard);
  text.pop_back();
  return fmt::format("`{}`", text);
}

class ReferenceWriter {
 public:
  void section(const Schema& schema, const std::string& path, const std::string& heading) {
    if (!heading.empty()) out_ += fmt::format("\n## {}\n", heading);
    if (!schema.help.empty()) out_ += fmt::format("\n{}\n", schema.help);
    table(schema, path);
    follow();
  }

  std::string take() { return std::move(out_); }

 private:
  struct Pending {
    Schema schema;
    std::string path;
  };

  void table(const Schema& schema, const std::string& path) {
    if (schema.keys.empty()) return;
    out_ += "\n| key | value | default | meaning |\n|---|---|---|---|\n";
    for (const Schema::Key& key : schema.keys) {
      const std::string below = path.empty() ? key.name : path + "." + key.name;
      const std::string type = type_of(key.type, below);
      out_ += fmt::format("| `{}` | {} | {} | {} |\n", key.name, cell(type), cell(default_of(key)), cell(key.help));
    }
  }

  // The type in words; sections and choices get a heading of their own later.
  std::string type_of(const Schema& schema, const std::string& path) {
    return type_of_one(schema, path) + (schema.by_name ? ", or a mapping from names to such values" : "") +
           (schema.or_list ? ", or a list of such values" : "");
  }

  std::string type_of_one(const Schema& schema, const std::string& path) {
    switch (schema.kind) {
      case Schema::Kind::kSection:
        if (!schema.parts.empty()) return "a mapping of names to: " + type_of(schema.parts[0], path + "[]");
        pending_.push_back({schema, path});
        return fmt::format("[section](#{})", anchor(path));
      case Schema::Kind::kEither: return type_of(schema.parts[0], path) + " or null";
      case Schema::Kind::kList: return list_type(schema, path);
      case Schema::Kind::kChoice: return choice_type(schema, path);
      default: return in_words(schema);
    }
  }

  std::string list_type(const Schema& list, const std::string& path) {
    const std::string item = type_of(list.parts[0], path + "[]");
    const std::string exact = list.length ? fmt::format("list of {}", *list.length) : "list";
    return list.rules.scalar_fills ? fmt::format("{} or {}", item, exact) : fmt::format("{}: {}", exact, item);
  }

  std::string choice_type(const Schema& choice, const std::string& path) {
    std::string text;
    bool named = false;
    for (const Schema& part : choice.parts) {
      if (part.name.empty()) {
        text += (text.empty() ? "" : " or ") + type_of(part, path);
      } else {
        named = true;
      }
    }
    if (!named) return choice.noun.empty() ? text : choice.noun;
    pending_.push_back({choice, heading_of(choice)});
    return fmt::format("{}{}[{}](#{})", text, text.empty() ? "" : " or ", choice.noun.empty() ? "a name" : choice.noun,
                       anchor(heading_of(choice)));
  }

  static std::string heading_of(const Schema& choice) {
    return choice.noun.empty() ? "name" : without_article(choice.noun);
  }

  // A heading's anchor as Markdown renderers make it: lower case, without punctuation.
  static std::string anchor(const std::string& heading) {
    std::string anchor;
    for (const char c : in_lower_case(heading)) {
      if (c == ' ') anchor += '-';
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-') anchor += c;
    }
    return anchor;
  }

  void follow() {
    const std::vector<Pending> pending = std::exchange(pending_, {});
    for (const Pending& next : pending) {
      if (!written_.insert(next.path).second) continue;
      if (next.schema.kind == Schema::Kind::kChoice) {
        choice(next.schema, next.path);
      } else {
        section(next.schema, next.path, next.path);
      }
    }
  }

  void choice(const Schema& schema, const std::string& heading) {
    out_ += fmt::format("\n## {}\n\n", heading);
    out_ +=
        schema.tag.empty()
            ? "Written `NAME` or `NAME: {option: ...}`.\n"
            : fmt::format("Written `NAME`, `{{{0}: NAME, option: ...}}` or `{{NAME: {{option: ...}}}}`.\n", schema.tag);
    for (const Schema& part : schema.parts) {
      if (part.name.empty()) continue;
      out_ += fmt::format("\n### {}: {}\n\n{}\n", heading, part.name, part.help);
      table(part, part.name);
    }
    follow();
  }

  std::string out_;
  std::vector<Pending> pending_;
  std::set<std::string> written_;
};

}  // namespace

std::string reference(const Schema& root) {
  ReferenceWriter writer;
  writer.section(root, "", "");
  return writer.take();
}

}  // namespace mirrortrain::config
