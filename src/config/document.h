#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "config/section.h"

namespace mirrortrain::config {

/// A configuration file with the `--set` overrides applied, before its keys are read:
///
///   config::Errors errors;
///   const std::vector<std::string> overrides = {"drawing.colors=[red,blue]"};
///   config::Document document = config::load("configs/a.yaml", overrides, errors);
///   auto root = config::read<Root>(document, errors);       // every wrong key is now in errors
///   ...                                                     // more checks may add theirs
///   errors.throw_if_any();
///   std::cout << config::show(root, document, config::Origins::kShown);
struct Document {
  Value root;
  std::map<std::string, std::string> replaced;     ///< names of list items that `--set` replaced, by path
  std::unordered_map<std::string, Place> origins;  ///< filled by read(): where each key shown came from
  std::vector<NamedFile> files;                    ///< filled by read(): those that it names, in order
};

/// Whether a configuration comes through a pipe, as `-`, /dev/stdin and a shell's `<(command)` do: its name is
/// "stdin", and its paths are relative to the working directory.
bool is_piped(const std::string& file);

/// What a file is that is not meant as a configuration, and where to use it: "these are pictures; ..."; "" for others.
using OtherFile = std::function<std::string(const std::string& file)>;

/// Reads a file, or stdin for `-`. Duplicate keys and wrong overrides are added to `errors`; a file that cannot be
/// read or is not YAML, too large or hostile throws a UsageError at once, with the errors so far; so does one that
/// `other` knows.
Document load(const std::string& file, std::span<const std::string> overrides, Errors& errors,
              const OtherFile& other = {});

/// As load(), for text in memory; `name` is the file in messages.
Document load_text(std::string_view text, const std::string& name, std::span<const std::string> overrides,
                   Errors& errors, const OtherFile& other = {});

/// Fills a Root from the document; keys not given keep the struct's values. Wrong ones are added to `errors`.
template <OptionStruct Root>
Root read(Document& document, Errors& errors) {
  Root root{};
  Reading reading{errors, document.origins, document.replaced, &document.files,
                  RootSchema([] { return Codec<Root>::schema({}); })};
  Codec<Root>::read(Node(document.root, reading), root);
  return root;
}

/// A value of the command line, written as in YAML: read_option<std::vector<std::string>>("--colors", "[red,
/// blue]"). Throws a UsageError that begins with the option's name.
template <class T>
T read_option(const std::string& option, std::string_view text);

/// Whether `show` adds each value's origin: `# file:line`, `# --set` or `# default`.
enum class Origins : bool { kHidden, kShown };

/// YAML text of a value; with `origins` each line has its value's origin.
std::string to_yaml(const Value& value, const std::unordered_map<std::string, Place>* origins = nullptr);

/// The resolved configuration, which can be run again.
template <OptionStruct Root>
std::string show(const Root& root, const Document& document, Origins origins = Origins::kHidden) {
  return to_yaml(Codec<Root>::show(root), origins == Origins::kShown ? &document.origins : nullptr);
}

/// The schema that json_schema() and reference() of schema.h are written from.
template <OptionStruct Root>
Schema schema() {
  return Codec<Root>::schema({});
}

namespace detail {
Value parse_option(const std::string& option, std::string_view text);
}

template <class T>
T read_option(const std::string& option, std::string_view text) {
  const Value value = detail::parse_option(option, text);
  Errors errors;
  Document document;
  Reading reading{errors, document.origins, document.replaced};
  T out{};
  Codec<T>::read(Node(value, reading), out);
  errors.throw_if_any();
  return out;
}

}  // namespace mirrortrain::config
