#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/read_yaml.h"

namespace mirrortrain::config {

/// The text is not a valid configuration; reading stops at `place`.
struct Refused {
  Place place;
  std::string message;
};

/// A position in the text as the parser counts it: from 0.
struct Mark {
  int position = 0, line = 0, column = 0;
};

/// A parser's number for an anchor; 0 where a value has none.
using AnchorId = std::size_t;

/// Builds the tree from a parser's events, checking the limits at every event: an alias is expanded by copying its
/// anchor's value, and the copy counts. Throws Refused.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const Source& source, Errors& errors)
      : text_(text), source_(source), errors_(errors) {}

  Value take() { return std::move(root_); }
  Place at(const Mark& mark) const;

  void begin_document(const Mark& mark);
  void add_null(const Mark& mark, AnchorId anchor);
  void add_alias(const Mark& mark, AnchorId anchor);
  void add_scalar(const Mark& mark, const std::string& tag, AnchorId anchor, const std::string& text);
  void begin_sequence(const Mark& mark, const std::string& tag, AnchorId anchor);
  void begin_mapping(const Mark& mark, const std::string& tag, AnchorId anchor, bool is_in_braces);
  /// Ends the innermost sequence or mapping.
  void close();

 private:
  /// The size of a value, including everything below it.
  struct Extent {
    std::size_t values = 0, bytes = 0, levels = 0;
  };
  struct Anchored {
    Value value;
    Extent extent;
  };
  /// A sequence or mapping that is not complete yet.
  struct Open {
    Value container;
    AnchorId anchor = 0;
    Extent extent;
    bool is_in_braces = false;  ///< where commas end texts
    bool has_key = false, lacks_value = false;
    std::string key;
    bool key_is_plain = false;
    Place key_place;
    std::unordered_map<std::string, std::uint32_t> lines;  ///< of the keys given, to find duplicates
    std::vector<Value> merged;                             ///< what `<<` names
    std::map<std::size_t, std::string> cut;                ///< entries whose texts commas cut, with what was left
  };

  void check_tag(const Mark& mark, const std::string& tag) const;
  void count(const Place& place, const Extent& extent);
  void open(Value container, AnchorId anchor);
  /// Adds a complete value, whose extent is already counted.
  void add(Value value, AnchorId anchor, const Extent& extent);
  void set_key(const Value& value);
  void add_entry(Open& mapping, Value value);
  bool joins_cut_text(Open& mapping);
  void report_cut_texts(Open& mapping);
  void add_merge(Open& mapping, Value value);
  static void merge(Open& mapping);
  /// The text inside curly quotes, which are an error; other texts unchanged.
  std::string without_curly_quotes(const Mark& mark, const std::string& text);
  std::string path(std::string_view below) const;

  std::string_view text_;
  const Source& source_;
  Errors& errors_;
  bool started_ = false;
  Value root_;
  std::vector<Open> open_;
  std::unordered_map<AnchorId, Anchored> anchors_;
  Extent total_;
  std::size_t anchored_values_ = 0;
};

}  // namespace mirrortrain::config
