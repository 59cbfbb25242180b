#include "config/shared_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/document.h"

namespace mirrortrain::config {
namespace {

/// All that the reference says of a value, without where it is: equal for sections that are the same.
std::string description(const Schema& schema) {
  std::string text = fmt::format("{}{}{}(", static_cast<int>(schema.kind), schema.by_name, schema.or_list);
  switch (schema.kind) {
    case Schema::Kind::kSection: text += schema.help; break;
    case Schema::Kind::kChoice: text += heading_of_choice(schema); break;
    case Schema::Kind::kEither:
    case Schema::Kind::kList: break;
    default: text += in_words(schema);
  }
  for (const Schema& part : schema.parts) {
    const bool has_heading = schema.kind == Schema::Kind::kChoice && !part.name.empty();
    if (!has_heading) text += description(part);
  }
  for (const Schema::Key& key : schema.keys) {
    text += fmt::format("|{}|{}|{}|{}", key.name, key.help, key.required ? "" : to_yaml(key.standard),
                        description(key.type));
  }
  return text + ")";
}

std::string last_key(const std::string& path) { return path.substr(path.rfind('.') + 1); }

/// "color" for circle.edge_color and square.color: whole words, and "" where they share none.
std::string common_words(const std::vector<std::string>& paths) {
  std::string common = last_key(paths[0]);
  for (const std::string& path : paths) {
    const std::string key = last_key(path);
    while (!common.empty() && key != common && !key.ends_with("_" + common)) {
      const std::size_t word = common.find('_');
      common = word == std::string::npos ? "" : common.substr(word + 1);
    }
  }
  return common;
}

}  // namespace

std::string heading_of_choice(const Schema& choice) {
  return choice.noun.empty() ? "name" : without_article(choice.noun);
}

std::string path_below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

SharedSections::SharedSections(const Schema& root) {
  collect_keys(root, "");
  for (const auto& [what, paths] : paths_) {
    if (paths.size() < 2) continue;
    const std::string common = common_words(paths);
    // Another section, or choice, may have these words for its heading.
    const bool is_taken = common.empty() || seen_.contains(common) || users_of_.contains(common);
    const std::string& heading = is_taken ? paths[0] : common;
    for (const std::string& path : paths) headings_[path] = heading;
    users_of_[heading] = paths;
  }
}

const std::string& SharedSections::heading(const Schema& section, const std::string& path) const {
  const auto found = headings_.find(path);
  return section.kind == Schema::Kind::kSection && found != headings_.end() ? found->second : path;
}

std::string SharedSections::users(const std::string& heading) const {
  const auto found = users_of_.find(heading);
  if (found == users_of_.end()) return "";
  const std::vector<std::string>& paths = found->second;
  const std::size_t named = paths.size() > 4 ? 2 : paths.size() - 1;
  std::string text = fmt::format("Of `{}`", paths[0]);
  for (std::size_t i = 1; i < named; ++i) text += fmt::format(", `{}`", paths[i]);
  return paths.size() > 4 ? fmt::format("{} and {} other keys.", text, paths.size() - named)
                          : fmt::format("{} and `{}`.", text, paths.back());
}

void SharedSections::collect(const Schema& schema, const std::string& path) {
  switch (schema.kind) {
    case Schema::Kind::kSection:
      if (!schema.parts.empty()) return collect(schema.parts[0], path + "[]");
      if (!seen_.insert(path).second) return;
      paths_[description(schema)].push_back(path);
      return collect_keys(schema, path);
    case Schema::Kind::kEither: return collect(schema.parts[0], path);
    case Schema::Kind::kList: return collect(schema.parts[0], path + "[]");
    case Schema::Kind::kChoice: break;
    default: return;
  }
  const bool is_new = seen_.insert(heading_of_choice(schema)).second;
  for (const Schema& part : schema.parts) {
    if (part.name.empty()) {
      collect(part, path);
    } else if (is_new) {
      collect_keys(part, part.name);
    }
  }
}

void SharedSections::collect_keys(const Schema& section, const std::string& path) {
  for (const Schema::Key& key : section.keys) collect(key.type, path_below(path, key.name));
}

}  // namespace mirrortrain::config
