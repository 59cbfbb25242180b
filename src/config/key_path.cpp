#include "config/key_path.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "config/read_yaml.h"

namespace mirrortrain::config {
namespace {

/// Adds the forms that a value may take: itself, or the alternatives of a choice.
void add_forms(const Schema& type, std::vector<const Schema*>& forms) {
  forms.push_back(&type);
  if (type.kind != Schema::Kind::kEither && type.kind != Schema::Kind::kChoice) return;
  for (const Schema& part : type.parts) add_forms(part, forms);
}

void add_below(const Schema& type, const std::string& name, std::vector<Schema>& found) {
  if (type.kind == Schema::Kind::kChoice) {
    for (const Schema& part : type.parts) {
      if (part.name == name) found.push_back(part);
    }
  }
  for (const Schema::Key& key : type.keys) {
    if (key.name == name) found.push_back(key.type);
  }
  // A mapping with arbitrary keys has the type of their values alone.
  const bool maps_any_key = type.kind == Schema::Kind::kSection && type.keys.empty() && type.parts.size() == 1;
  if (maps_any_key || type.by_name) found.push_back(maps_any_key ? type.parts[0] : type);
}

}  // namespace

std::optional<std::vector<KeyStep>> parse_key_path(std::string_view path) {
  std::vector<KeyStep> steps;
  while (!path.empty()) {
    if (path[0] == '[' && !steps.empty()) {
      const std::size_t end = path.find(']');
      std::size_t index = 0;
      if (end == std::string_view::npos || end == 1) return std::nullopt;
      const auto result = std::from_chars(path.data() + 1, path.data() + end, index);
      if (result.ec != std::errc{} || result.ptr != path.data() + end) return std::nullopt;
      steps.emplace_back(index);
      path.remove_prefix(end + 1);
    } else {
      if (!steps.empty()) {
        if (path[0] != '.') return std::nullopt;
        path.remove_prefix(1);
      }
      const std::string_view name = path.substr(0, path.find_first_of(".["));
      if (name.empty() || name.find_first_of("] \t") != std::string_view::npos) return std::nullopt;
      steps.emplace_back(std::string(name));
      path.remove_prefix(name.size());
    }
  }
  if (steps.empty() || steps.size() > kMostLevels) return std::nullopt;
  return steps;
}

std::vector<Schema> types_at(const Schema& root, const std::vector<KeyStep>& path) {
  std::vector<Schema> types = {root};
  for (const KeyStep& step : path) {
    std::vector<Schema> below;
    for (const Schema& type : types) {
      std::vector<const Schema*> forms;
      add_forms(type, forms);
      for (const Schema* const form : forms) {
        if (form->kind == Schema::Kind::kAny) {
          below.push_back(*form);
        } else if (const auto* const name = std::get_if<std::string>(&step)) {
          add_below(*form, *name, below);
        } else if (form->kind == Schema::Kind::kList) {
          below.push_back(form->parts[0]);
        } else if (form->or_list) {
          below.push_back(*form);
        }
      }
    }
    types = std::move(below);
  }
  std::vector<Schema> found;
  for (const Schema& type : types) {
    std::vector<const Schema*> forms;
    add_forms(type, forms);
    for (const Schema* const form : forms) found.push_back(*form);
  }
  return found;
}

}  // namespace mirrortrain::config
