#include "config/read_yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "base/utf8.h"
#include "config/tree_builder.h"
#include "config/yaml_mistakes.h"

namespace mirrortrain::config {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Rewords yaml-cpp's messages more plainly.
std::string in_plain_words(const std::string& message) {
  static const std::map<std::string_view, std::string_view> words = {
      {"illegal map value", "a ':' where no key can be; check the indentation, and quote a text that holds ': '"},
      {"end of sequence flow not found", "a list's closing ']' is missing"},
      {"end of map flow not found", "a mapping's closing '}' is missing"},
      {"end of sequence not found", "expected another '- item' or the list's end; check the indentation"},
      {"end of map not found", "expected another 'key: value' or the mapping's end; check the indentation"},
      {"illegal EOF in scalar", "a quoted text is not closed"},
      {"unknown token", "no text begins with this character; put it in quotes"},
      {"the referenced anchor is not defined", "no anchor of the alias's name is defined above it"},
  };
  // Newer versions of yaml-cpp append a name.
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const auto& w) { return message.starts_with(w.first); });
  return "not valid YAML: " + (found == words.end() ? shortened(message, 200) : std::string(found->second));
}

/// Throws Refused at the first byte that a configuration may not contain: invalid UTF-8 or a control character.
void check_text(std::string_view text, const Source& source) {
  std::uint32_t line = 1;
  std::size_t line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto refuse = [&](std::string message) {
      throw Refused{source.at(line, static_cast<std::uint32_t>(at - line_start + 1)), std::move(message)};
    };
    const auto [code, bytes] = first_character(text.substr(at, 4));
    if (bytes == 0) {
      refuse(fmt::format("the byte 0x{:02X} is not UTF-8; save the file as UTF-8 text",
                         static_cast<unsigned char>(text[at])));
    }
    const bool is_white = code == '\t' || code == '\n' || code == '\r' || code == 0x85;
    if (is_control(code) && !is_white) {
      refuse(fmt::format("the control character U+{:04X} is not allowed; is this a text file?",
                         static_cast<std::uint32_t>(code)));
    }
    at += bytes;
    if (code == '\n') ++line, line_start = at;
  }
}

// Where the text ends, without its last line breaks.
Place end_of(std::string_view text, const Source& source) {
  text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  const auto line = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n'));
  const std::size_t line_start = text.rfind('\n') + 1;  // 0 where there is none
  return source.at(line + 1, static_cast<std::uint32_t>(text.size() - line_start + 1));
}

Mark ours(const YAML::Mark& mark) { return {mark.pos, mark.line, mark.column}; }

// Passes yaml-cpp's events to the builder, so that only this file knows yaml-cpp.
class Events : public YAML::EventHandler {
 public:
  explicit Events(TreeBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark& mark) override { builder_.begin_document(ours(mark)); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { builder_.add_null(ours(mark), anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override { builder_.add_alias(ours(mark), anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    builder_.add_scalar(ours(mark), tag, anchor, text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    builder_.begin_sequence(ours(mark), tag, anchor);
  }
  void OnSequenceEnd() override { builder_.close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    builder_.begin_mapping(ours(mark), tag, anchor, style == YAML::EmitterStyle::Flow);
  }
  void OnMapEnd() override { builder_.close(); }

 private:
  TreeBuilder& builder_;
};

Value parse(std::string_view text, const Source& source, Errors& errors) {
  // Without a final comment line, yaml-cpp accepts the end of the file as a closing quote.
  std::istringstream stream(std::string(text) + (text.ends_with('\n') ? "#" : "\n#"));
  TreeBuilder builder(text, source, errors);
  Events events(builder);
  try {
    YAML::Parser parser(stream);
    // The second call finds the end, or a second document, which the builder rejects.
    if (parser.HandleNextDocument(events)) parser.HandleNextDocument(events);
  } catch (const YAML::Exception& error) {
    const bool at_end = error.mark.is_null() || static_cast<std::size_t>(error.mark.pos) >= text.size();
    const std::size_t stopped = at_end ? text.size() : static_cast<std::size_t>(std::max(error.mark.pos, 0));
    if (const auto cause = find_yaml_mistake(text, stopped)) {
      throw Refused{source.at(cause->line, cause->column), "not valid YAML: " + cause->message};
    }
    throw Refused{at_end ? end_of(text, source) : builder.at(ours(error.mark)), in_plain_words(error.msg)};
  }
  return builder.take();
}

// Every bracket opens a value, and yaml-cpp can hold many of them before the builder sees the first.
bool has_too_many_brackets(std::string_view text) {
  return static_cast<std::size_t>(
             std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; })) > kMostValues;
}

}  // namespace

std::optional<Value> read_yaml(std::string_view text, const Source& source, Errors& errors) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  try {
    if (text.size() > kMostBytes) {
      throw Refused{source.at(1, 1),
                    fmt::format("more than {} MiB; put large data in a file of its own", kMostBytes >> 20)};
    }
    check_text(text, source);
    if (has_too_many_brackets(text)) {
      throw Refused{source.at(1, 1),
                    fmt::format("more than {} brackets; put large data in a file of its own", kMostValues)};
    }
    Value value = parse(text, source, errors);
    if (!value.place().given()) value.move_to(source.at(1, 1));
    return value;
  } catch (const Refused& refused) {
    errors.add(refused.place, source.path, refused.message);
    return std::nullopt;
  }
}

}  // namespace mirrortrain::config
