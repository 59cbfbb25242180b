#include "config/yaml_mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "config/names.h"
#include "config/scalar.h"

namespace mirrortrain::config {
namespace {

YamlMistake at(std::string_view text, std::size_t position, std::string message) {
  const std::string_view before = text.substr(0, position);
  const auto line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t start = before.rfind('\n') + 1;  // 0 where there is none
  return {line + 1, static_cast<std::uint32_t>(position - start + 1), std::move(message)};
}

/// The end of the quoted text that begins at `open`: after its closing quote; npos if there is none.
std::size_t end_of_quoted(std::string_view text, std::size_t open) {
  const char quote = text[open];
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (quote == '"' || i + 1 == text.size() || text[i + 1] != '\'') return i + 1;
      ++i;  // '' is a quote within the text
    }
  }
  return std::string_view::npos;
}

bool opens_quoted(std::string_view text, std::size_t i) {
  if (text[i] != '"' && text[i] != '\'') return false;
  return i == 0 || std::string_view(" \n[{,").find(text[i - 1]) != std::string_view::npos;
}

bool opens_comment(std::string_view text, std::size_t i) {
  return text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\n' || text[i - 1] == '\t');
}

/// A quoted text that is never closed, or that spans lines up to where the parser stopped.
std::optional<YamlMistake> unclosed_quote(std::string_view text, std::size_t stopped) {
  for (std::size_t i = 0; i < text.size() && i <= stopped; ++i) {
    if (opens_comment(text, i)) {
      i = std::min(text.find('\n', i), text.size());
    } else if (opens_quoted(text, i)) {
      const std::size_t end = end_of_quoted(text, i);
      const bool spans_lines = end != std::string_view::npos && text.substr(i, end - i).find('\n') < end - i;
      const std::size_t line_end = end == std::string_view::npos ? end : std::min(text.find('\n', end), text.size());
      if (end == std::string_view::npos || (spans_lines && stopped <= line_end + 1)) {
        return at(text, i, fmt::format("the quoted text that opens here is not closed; add a {} at its end", text[i]));
      }
      i = end - 1;
    }
  }
  return std::nullopt;
}

/// The lines up to the one where the parser stopped.
template <class Look>
std::optional<YamlMistake> in_lines(std::string_view text, std::size_t stopped, Look look) {
  for (std::size_t start = 0; start <= stopped && start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (auto mistake = look(start, text.substr(start, end - start))) return mistake;
    start = end + 1;
  }
  return std::nullopt;
}

std::optional<YamlMistake> tab(std::string_view text, std::size_t stopped) {
  return in_lines(text, stopped, [&](std::size_t start, std::string_view line) -> std::optional<YamlMistake> {
    const std::size_t found = line.find_first_not_of(' ');
    if (found == std::string_view::npos || line[found] != '\t' || line.find_first_not_of(" \t") == line.npos) {
      return std::nullopt;
    }
    return at(text, start + found, "this is a tab; YAML is indented with spaces");
  });
}

/// `seed:1`. Not `http://...`, nor text in quotes, in brackets or after a valid key.
std::optional<YamlMistake> missing_space(std::string_view text, std::size_t stopped) {
  return in_lines(text, stopped, [&](std::size_t start, std::string_view line) -> std::optional<YamlMistake> {
    const std::size_t name = std::min(line.find_first_not_of(" -"), line.size());
    const std::size_t colon = std::min(line.find_first_not_of(kNameCharacters, name), line.size());
    if (colon == name || colon + 1 >= line.size() || line[colon] != ':') return std::nullopt;
    if (std::string_view(" \t\r/").find(line[colon + 1]) != std::string_view::npos) return std::nullopt;
    return at(
        text, start + colon,
        fmt::format("a space is missing after the colon; write '{}: {}'", shortened(line.substr(name, colon - name)),
                    shortened(without_odd_characters(line.substr(colon + 1)))));
  });
}

/// `seed=1`, in the line where the parser stopped or the one before.
std::optional<YamlMistake> equals_sign(std::string_view text, std::size_t stopped) {
  const std::string of_path = std::string(kNameCharacters) + ".";
  const auto lines_between = [&](std::size_t start) {
    return std::count(text.begin() + static_cast<std::ptrdiff_t>(start),
                      text.begin() + static_cast<std::ptrdiff_t>(std::min(stopped, text.size())), '\n');
  };
  return in_lines(text, stopped, [&](std::size_t start, std::string_view line) -> std::optional<YamlMistake> {
    const std::size_t name = std::min(line.find_first_not_of(" -"), line.size());
    const std::size_t after = std::min(line.find_first_not_of(of_path, name), line.size());
    const std::size_t equals = std::min(line.find_first_not_of(' ', after), line.size());
    if (after == name || equals >= line.size() || line[equals] != '=' || lines_between(start) > 2) return std::nullopt;
    std::string_view value = line.substr(equals + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    return at(text, start + equals,
              fmt::format("a key is followed by a colon, not by '='; write '{}: {}'",
                          shortened(line.substr(name, after - name)), shortened(value)));
  });
}

/// A bracket opened before the place where the parser stopped and never closed.
std::optional<YamlMistake> unclosed_bracket(std::string_view text, std::size_t stopped) {
  std::vector<std::size_t> open;
  const auto mistake = [&]() -> std::optional<YamlMistake> {
    if (open.empty() || open.back() > stopped) return std::nullopt;
    const char bracket = text[open.back()];
    return at(text, open.back(),
              fmt::format("the {} that opens here is not closed; add a {}", bracket, bracket == '[' ? ']' : '}'));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins = i == 0 || std::string_view(" \n[{,").find(text[i - 1]) != std::string_view::npos;
    if (opens_comment(text, i)) {
      i = std::min(text.find('\n', i), text.size());
    } else if (opens_quoted(text, i)) {
      const std::size_t end = end_of_quoted(text, i);
      if (end == std::string_view::npos) return std::nullopt;
      i = end - 1;
    } else if ((c == '[' || c == '{') && (begins || !open.empty())) {
      open.push_back(i);
    } else if ((c == ']' || c == '}') && !open.empty()) {
      if (text[open.back()] != (c == ']' ? '[' : '{')) return mistake();
      open.pop_back();
    }
  }
  return mistake();
}

/// In braces or brackets, where the parser stopped at a bracket within a text without quotes: {text: x[0]}.
std::optional<YamlMistake> bracket_in_text(std::string_view text, std::size_t stopped) {
  const bool is_bracket = stopped > 0 && stopped < text.size() && (text[stopped] == '[' || text[stopped] == '{');
  if (!is_bracket || std::string_view(" \t\n[{,:").find(text[stopped - 1]) != std::string_view::npos)
    return std::nullopt;
  const std::size_t before = text.find_last_of("\n[{,", stopped - 1), colon = text.rfind(": ", stopped);
  std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  if (colon != std::string_view::npos && colon >= start) start = colon + 2;
  start = std::min(text.find_first_not_of(' ', start), stopped);
  return at(
      text, start,
      fmt::format("a {} ends a text in braces and brackets, so that this one is '{}'; put the whole text in quotes",
                  text[stopped], shortened(text.substr(start, stopped - start))));
}

}  // namespace

std::optional<YamlMistake> find_yaml_mistake(std::string_view text, std::size_t stopped) {
  if (auto mistake = unclosed_quote(text, stopped)) return mistake;
  if (auto mistake = tab(text, stopped)) return mistake;
  if (auto mistake = unclosed_bracket(text, stopped)) return mistake;
  if (auto mistake = bracket_in_text(text, stopped)) return mistake;
  if (auto mistake = missing_space(text, stopped)) return mistake;
  return equals_sign(text, stopped);
}

}  // namespace mirrortrain::config
