#include "config/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/open_file.h"
#include "config/key_path.h"
#include "config/node.h"
#include "config/read_yaml.h"
#include "config/scalar.h"

namespace mirrortrain::config {
namespace {

// `circle` or `{circle: ...}`: the name of a list's item.
std::optional<std::string> name_of_item(const Value& item) {
  if (item.is_mapping() && item.entries().size() == 1) return item.entries()[0].key;
  return as_text(item);
}

class Override {
 public:
  Override(Value& root, std::map<std::string, std::string>& replaced, const Source& source, Errors& errors)
      : target_(&root), replaced_(replaced), source_(source), errors_(errors) {}

  void apply(const std::vector<KeyStep>& steps, Value value) {
    for (const KeyStep& step : steps) {
      const bool found = std::holds_alternative<std::string>(step) ? enter(std::get<std::string>(step))
                                                                   : enter(std::get<std::size_t>(step));
      if (!found) return;
    }
    const bool is_item = std::holds_alternative<std::size_t>(steps.back());
    const auto old_name = is_item ? name_of_item(*target_) : std::nullopt;
    if (old_name) replaced_.emplace(path_, *old_name);
    *target_ = std::move(value);
  }

 private:
  Place place() const { return source_.at(1, 1); }

  bool enter(const std::string& key) {
    if (target_->is_sequence()) {
      return refuse(fmt::format("{} is a list; choose an item as {}[0]", path_, path_));
    }
    make_mapping();
    Value::Entry* entry = target_->find(key);
    if (entry == nullptr) {
      target_->entries().push_back({key, place(), Value::null(place())});
      entry = &target_->entries().back();
    }
    path_ = joined(std::move(path_), key);
    target_ = &entry->value;
    return true;
  }

  bool enter(std::size_t index) {
    if (!target_->is_sequence()) return refuse(fmt::format("{} is not a list, found {}", path_, describe(*target_)));
    const std::size_t count = target_->items().size();
    if (index >= count)
      return refuse(fmt::format("{} has {} item{}, counted from 0", path_, count, count == 1 ? "" : "s"));
    path_ += fmt::format("[{}]", index);
    target_ = &target_->items()[index];
    return true;
  }

  // Setting a key below null makes a section; below a name, that name's options; any other scalar is replaced.
  void make_mapping() {
    if (target_->is_mapping()) return;
    std::vector<Value::Entry> entries;
    const Place old = target_->place();
    if (const auto name = as_text(*target_)) entries.push_back({*name, old, Value::null(old)});
    *target_ = Value::mapping(std::move(entries), place());
  }

  bool refuse(std::string message) {
    errors_.add(place(), source_.path, std::move(message));
    return false;
  }

  Value* target_;
  std::map<std::string, std::string>& replaced_;
  const Source& source_;
  Errors& errors_;
  std::string path_;
};

/// Whether the text is one character that is no letter, digit or null.
bool is_one_mark(std::string_view text) {
  return text.size() == 1 && std::ispunct(static_cast<unsigned char>(text[0])) != 0 && text[0] != '~';
}

/// Applies `key.path=value` overrides to the tree, in order. Missing sections are created; below a bare name (`circle`,
/// `- square`) the name becomes the key of its options. Names of replaced list items are stored in `replaced`, by
/// path. Wrong overrides are added to `errors` and skipped.
void apply_overrides(std::span<const std::string> overrides, Value& root, std::map<std::string, std::string>& replaced,
                     Errors& errors) {
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    const std::string& text = overrides[i];
    const std::size_t equals = text.find('=');
    const std::string path = text.substr(0, equals);
    const Source source{std::make_shared<const std::string>("--set " + shortened(path, 200)), false,
                        static_cast<std::uint32_t>(i), path};
    const auto steps = parse_key_path(path);
    if (path == "extends") {
      errors.add(source.at(1, 1), path, "a file names the one that it extends; write it there");
      continue;
    }
    if (equals == std::string::npos || !steps) {
      errors.add(
          source.at(1, 1), path,
          fmt::format("expected key.path=value, as strategy.devices=[cpu:0,cpu:1], found '{}'", shortened(text)));
      continue;
    }
    if (text.find_first_not_of(" \t", equals + 1) == std::string::npos) {
      errors.add(source.at(1, 1), path, "a value is missing after '='; write one there, or leave this --set out");
      continue;
    }
    const std::string_view given = std::string_view(text).substr(equals + 1);
    // A single comma, as in decimal=, or delimiter=; which YAML parses as part of a list.
    auto value = is_one_mark(given) ? std::optional(Value::scalar(std::string(given), true, source.at(1, 1)))
                                    : read_yaml(given, source, errors);
    if (value) Override(root, replaced, source, errors).apply(*steps, std::move(*value));
  }
}

/// "; did you mean net.yaml?" for `net` or `net.yml`, or a misspelled name; "" if the folder has no such file.
std::string file_meant(const std::filesystem::path& file) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(file.has_parent_path() ? file.parent_path() : ".", ignored)) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".yaml" || ending == ".yml") names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  const auto same = std::ranges::find_if(
      names, [&](const std::string& name) { return std::filesystem::path(name).stem() == file.stem(); });
  const auto meant = same != names.end() ? std::optional(*same) : nearest_name(file.filename().string(), names);
  return meant ? fmt::format("; did you mean {}?", (file.parent_path() / *meant).string()) : "";
}

// Reads just past the size limit, so that a file over it is detected however large it is.
std::string read_file(const std::string& file, const OtherFile& other) {
  if (file == "-") return read_file("/dev/stdin", other);
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw UsageError(fmt::format("{}: expected a configuration file, found a folder", file));
  }
  if (other && std::filesystem::exists(file, ignored)) {
    if (const std::string what = other(file); !what.empty()) throw UsageError(file + ": " + what);
  }
  std::ifstream stream(file, std::ios::binary);  // also a pipe
  note_read(file);
  if (!stream) {
    const int why = errno;
    throw UsageError(fmt::format("{}: cannot open the configuration: {}{}", file, std::strerror(why),
                                 why == ENOENT ? file_meant(file) : ""));
  }
  // Not at once: memory for the largest file takes longer to clear than a usual one to be read.
  std::string text;
  for (std::size_t size = std::size_t{64} << 10; stream && text.size() <= kMostBytes; size *= 2) {
    const std::size_t before = text.size();
    text.resize(std::min(size, kMostBytes + 4));
    stream.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
    text.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) throw UsageError(fmt::format("{}: cannot read the configuration: {}", file, std::strerror(errno)));
  return text;
}

constexpr std::size_t kMostBases = 16;

/// Marks a base file's values with the place that names the file.
void add_use(Value& value, const std::shared_ptr<const std::string>& use) {
  const auto marked = [&](Place place) {
    if (place.given() && place.use == nullptr) place.use = use;
    return place;
  };
  value.move_to(marked(value.place()));
  if (value.is_sequence()) {
    for (Value& item : value.items()) add_use(item, use);
  } else if (value.is_mapping()) {
    for (Value::Entry& entry : value.entries()) {
      entry.key_place = marked(entry.key_place);
      add_use(entry.value, use);
    }
  }
}

/// Whether both choose a type and the types differ: then neither's options apply to the other.
bool are_of_other_types(const Value& a, const Value& b) {
  for (const std::string_view key : {"type", "format", "schedule"}) {
    const Value::Entry *of_a = a.find(key), *of_b = b.find(key);
    if (of_a != nullptr && of_b != nullptr && as_text(of_a->value) != as_text(of_b->value)) return true;
  }
  return false;
}

/// Writes {circle: {radius: 0.9}} as {radius: 0.9} if the other value has `type: circle`: the merged value keeps that
/// type. Returns whether it did.
bool unwrap_type(Value& value, const Value& other) {
  const Value::Entry* const type = other.find("type");
  if (type == nullptr || value.entries().size() != 1) return false;
  Value::Entry& only = value.entries().front();
  if (!only.value.is_mapping() || as_text(type->value) != only.key) return false;
  Value inside = std::move(only.value);
  value = std::move(inside);
  return true;
}

/// Converts both to the same form of a choice: circle, {type: circle, ...}, {circle: {...}}.
void unite_forms(Value& own, Value& base) {
  if (own.is_mapping() && base.is_mapping()) {
    if (!unwrap_type(own, base)) unwrap_type(base, own);
  } else if (own.is_mapping() && meaning_of(base) == Meaning::kText && own.find("type") == nullptr) {
    const Place place = base.place();
    base = Value::mapping({{"type", place, std::move(base)}}, place);
  }
}

/// `own` with the keys that only the base has. Lists are not joined.
void merge_base(Value& own, Value base) {
  unite_forms(own, base);
  if (!own.is_mapping() || !base.is_mapping() || are_of_other_types(own, base)) return;
  for (Value::Entry& entry : base.entries()) {
    if (Value::Entry* twin = own.find(entry.key)) {
      merge_base(twin->value, std::move(entry.value));
    } else {
      own.entries().push_back(std::move(entry));
    }
  }
}

/// Merges the files that `extends` names under the root's own keys. A base that cannot be read is an error.
void add_bases(Value& root, std::vector<std::string> files, const OtherFile& other, Errors& errors) {
  Value::Entry* const extends = root.is_mapping() ? root.find("extends") : nullptr;
  if (extends == nullptr || extends->value.is_null()) return;
  const Value named = extends->value;
  std::erase_if(root.entries(), [](const Value::Entry& entry) { return entry.key == "extends"; });
  const auto text = as_text(named);
  if (!text) {
    return errors.add(named.place(), "extends", fmt::format("expected a file's name, found {}", describe(named)));
  }
  const std::string file = (std::filesystem::path(files.back()).parent_path() / *text).lexically_normal().string();
  if (std::ranges::count(files, file) > 0 || files.size() > kMostBases) {
    return errors.add(named.place(), "extends", fmt::format("'{}' extends itself", file));
  }
  std::string content;
  try {
    content = read_file(file, other);
  } catch (const UsageError& error) {
    return errors.add(named.place(), "extends", error.what());
  }
  auto base = read_yaml(content, Source{std::make_shared<const std::string>(file), true, 0, ""}, errors);
  if (!base) return;
  files.push_back(file);
  add_bases(*base, files, other, errors);
  add_use(*base, std::make_shared<const std::string>("the file extended at " + named.place().text()));
  merge_base(root, std::move(*base));
}

}  // namespace

bool is_piped(const std::string& file) {
  std::error_code ignored;
  return file == "-" || file == "/dev/stdin" || file.starts_with("/dev/fd/") ||
         std::filesystem::is_fifo(std::filesystem::status(file, ignored));
}

Document load(const std::string& file, std::span<const std::string> overrides, Errors& errors, const OtherFile& other) {
  if (!is_piped(file)) return load_text(read_file(file, other), file, overrides, errors, other);
  static std::map<std::string, std::string> piped;  // a pipe can be read only once
  auto known = piped.find(file);
  if (known == piped.end()) known = piped.emplace(file, read_file(file, other)).first;
  return load_text(known->second, "stdin", overrides, errors, other);
}

Document load_text(std::string_view text, const std::string& name, std::span<const std::string> overrides,
                   Errors& errors, const OtherFile& other) {
  const Source source{std::make_shared<const std::string>(name), true, 0, ""};
  auto root = read_yaml(text, source, errors);
  Document document;
  if (!root) {
    apply_overrides(overrides, document.root, document.replaced, errors);
    errors.throw_if_any();
  }
  document.root = std::move(*root);
  const std::size_t errors_before = errors.count();
  add_bases(document.root, {name}, other, errors);
  if (errors.count() != errors_before) errors.throw_if_any();  // not to report a base's keys as missing
  apply_overrides(overrides, document.root, document.replaced, errors);
  return document;
}

Value detail::parse_option(const std::string& option, std::string_view text) {
  Errors errors;
  auto value = read_yaml(text, {std::make_shared<const std::string>(option), false, 0, ""}, errors);
  errors.throw_if_any();
  return std::move(*value);
}

}  // namespace mirrortrain::config
