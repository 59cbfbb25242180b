#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "config/document.h"
#include "config/schema.h"
#include "config/shared_sections.h"

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

/// A heading's anchor as Markdown renderers make it: lower case, without punctuation.
std::string anchor(const std::string& heading) {
  std::string anchor;
  for (const char c : in_lower_case(heading)) {
    if (c == ' ') anchor += '-';
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-') anchor += c;
  }
  return anchor;
}

std::string link(std::string_view text, const std::string& heading) {
  return fmt::format("[{}](#{})", text, anchor(heading));
}

class ReferenceWriter {
 public:
  explicit ReferenceWriter(const Schema& root) : shared_(root) { section(root, "", ""); }

  /// The table of contents, then all sections.
  std::string text() const {
    std::string text = "\n**Contents**\n\n";
    for (const Chapter& chapter : contents_) {
      text += "- " + link(chapter.heading, chapter.heading);
      const char* before = ": ";
      for (const std::string& name : chapter.names) {
        text += std::exchange(before, ", ") + link(name, heading_within(chapter.heading, name));
      }
      text += '\n';
    }
    return text + out_;
  }

 private:
  struct Pending {
    Schema schema;
    std::string path;  // of a section, where it is met first
    std::string heading;
  };
  /// A section, or a choice with the names that it offers.
  struct Chapter {
    std::string heading;
    std::vector<std::string> names;
  };

  static std::string heading_within(const std::string& chapter, const std::string& name) {
    return chapter + ": " + name;
  }

  void begin_chapter(const std::string& heading) {
    out_ += fmt::format("\n## {}\n", heading);
    contents_.push_back({heading, {}});
  }

  void section(const Schema& schema, const std::string& path, const std::string& heading) {
    if (!heading.empty()) begin_chapter(heading);
    if (!schema.help.empty()) out_ += fmt::format("\n{}\n", schema.help);
    if (const std::string users = shared_.users(heading); !users.empty()) out_ += fmt::format("\n{}\n", users);
    table(schema, path);
    follow();
  }

  void table(const Schema& schema, const std::string& path) {
    if (schema.keys.empty()) return;
    out_ += "\n| key | value | default | meaning |\n|---|---|---|---|\n";
    for (const Schema::Key& key : schema.keys) {
      const std::string type = type_of(key.type, path_below(path, key.name));
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
        pending_.push_back({schema, path, shared_.heading(schema, path)});
        return link("section", pending_.back().heading);
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
    pending_.push_back({choice, "", heading_of_choice(choice)});
    return text + (text.empty() ? "" : " or ") +
           link(choice.noun.empty() ? "a name" : choice.noun, heading_of_choice(choice));
  }

  void follow() {
    const std::vector<Pending> pending = std::exchange(pending_, {});
    for (const Pending& next : pending) {
      if (!written_.insert(next.heading).second) continue;
      if (next.schema.kind == Schema::Kind::kChoice) {
        choice(next.schema, next.heading);
      } else {
        section(next.schema, next.path, next.heading);
      }
    }
  }

  void choice(const Schema& schema, const std::string& heading) {
    begin_chapter(heading);
    const std::size_t chapter = contents_.size() - 1;
    out_ += schema.tag.empty()
                ? "\nWritten `NAME` or `NAME: {option: ...}`.\n"
                : fmt::format("\nWritten `NAME`, `{{{0}: NAME, option: ...}}` or `{{NAME: {{option: ...}}}}`.\n",
                              schema.tag);
    for (const Schema& part : schema.parts) {
      if (part.name.empty()) continue;
      out_ += fmt::format("\n### {}\n\n{}\n", heading_within(heading, part.name), part.help);
      contents_[chapter].names.push_back(part.name);
      table(part, part.name);
    }
    follow();
  }

  SharedSections shared_;
  std::string out_;
  std::vector<Chapter> contents_;
  std::vector<Pending> pending_;
  std::set<std::string> written_;
};

}  // namespace

std::string reference(const Schema& root) { return ReferenceWriter(root).text(); }

}  // namespace mirrortrain::config
