#include "data/loading/lookups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "data/text/vocabulary.h"

namespace mirrortrain::data {
namespace {

/// A column whose numbers an embedding looks up.
struct LookedUp {
  std::int64_t column = 0;
  std::optional<std::size_t> feature{};  ///< which of the table's features; none for texts
  std::string layer{};
  std::string numbers{};                                 ///< how it is numbered, in words
  std::int64_t bins = 0;                                 ///< of which words get a number; 0 for others
  bool masks = false;                                    ///< whether the first of the bins is for no word
  const std::vector<std::string>* vocabulary = nullptr;  ///< of texts

  /// Whether a number can mean the same in both.
  bool is_numbered_as(const LookedUp& other) const {
    const bool are_texts = vocabulary != nullptr && other.vocabulary != nullptr;
    return are_texts ? *vocabulary == *other.vocabulary : numbers == other.numbers;
  }
};

std::string numbers_of(const HashingEncoding& hashing) {
  const std::string salt =
      hashing.salt ? std::visit([](const auto& one) { return fmt::format(", salt {}", one); }, *hashing.salt) : "";
  const std::string mask = hashing.masks() ? fmt::format(", mask_value '{}'", shortened(*hashing.mask_value)) : "";
  return fmt::format("by hashing of words, of {} bins{}{}", hashing.num_bins, salt, mask);
}

/// Sets how a feature is numbered; returns false if it is not looked up, as features of 0 and 1 are not.
bool set_numbers(const AdaptedColumn& column, LookedUp& to) {
  if (const auto& crossing = column.crossing) {
    to.numbers = fmt::format("by the crossing '{}'", shortened(crossing->name));
    to.bins = crossing->bins;
    return crossing->output == CellOutput::kInt;
  }
  if (!column.encoding) {
    to.numbers = "as they are in the file";
    return true;
  }
  if (const auto* const hash = std::get_if<HashEncoding>(&*column.encoding)) {
    to.numbers = fmt::format("by hashes of words, of {} bins", hash->bins);
    to.bins = hash->bins;
    return true;
  }
  if (const auto* const hashing = std::get_if<HashingEncoding>(&*column.encoding)) {
    to.numbers = numbers_of(*hashing);
    to.bins = hashing->num_bins;
    to.masks = hashing->masks();
    return hashing->output_mode == CellOutput::kInt;
  }
  to.numbers = "by index";
  return std::holds_alternative<IndexEncoding>(*column.encoding);
}

std::string text_of(const AdaptedTable& table, const LookedUp& looked_up) {
  return looked_up.feature ? table.text_of(table.features[*looked_up.feature]) : table.text_of(looked_up.column);
}

std::vector<LookedUp> looked_up_of(const AdaptedTable& table, const InputSpec& spec) {
  std::vector<LookedUp> columns;
  const TableInput* const input = table.find_input(spec.name);
  if (input == nullptr || spec.lookups.empty()) return columns;
  const std::string& layer = spec.lookups.front().layer;
  if (const auto* const texts = std::get_if<TableInput::Texts>(&input->content)) {
    LookedUp& one = columns.emplace_back(LookedUp{texts->column, std::nullopt, layer});
    one.numbers = texts->vocabulary.empty() ? "by the bytes of texts"
                                            : fmt::format("by the tokens of {}", texts->vocabulary_name);
    one.vocabulary = &texts->vocabulary;
  } else if (const auto* const numbers = std::get_if<TableInput::Numbers>(&input->content)) {
    for (const std::size_t feature : numbers->columns) {
      const AdaptedColumn& column = table.features[feature];
      LookedUp one{column.column, feature, layer};
      if (set_numbers(column, one)) columns.push_back(std::move(one));
    }
  }
  return columns;
}

/// For each input, the number of the first one that shares an embedding with it, also by way of others.
std::vector<std::size_t> groups_of(const std::vector<InputSpec>& inputs) {
  std::vector<std::size_t> groups(inputs.size());
  std::iota(groups.begin(), groups.end(), std::size_t{0});
  const auto share = [](const InputSpec& a, const InputSpec& b) {
    return std::ranges::any_of(a.lookups, [&](const LookupSpec& lookup) {
      return std::ranges::count(b.lookups, lookup.layer, &LookupSpec::layer) > 0;
    });
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      if (share(inputs[before], inputs[i])) std::ranges::replace(groups, groups[i], groups[before]);
    }
  }
  return groups;
}

/// Gives all of a group's columns of words the words of each. `pads`: whether 0 is masked, so that empty cells, where
/// there may be some, have to be 0.
void number_group(AdaptedTable& table, const std::vector<LookedUp>& group, bool pads, const std::string& origin) {
  for (const LookedUp& other : group) {
    const LookedUp& first = group.front();
    if (other.is_numbered_as(first)) continue;
    throw Error(fmt::format(
        "{}: the embedding '{}' looks up {}, numbered {}, and {}, numbered {}, so that a number means two things; "
        "number both alike, by the same encoding or vocabulary, or give each an embedding of its own",
        origin, other.layer, text_of(table, first), first.numbers, text_of(table, other), other.numbers));
  }
  std::vector<std::string> words;
  for (const LookedUp& one : group) {
    if (!one.feature) return;
    const std::vector<std::string>& own = table.features[*one.feature].words;
    words.insert(words.end(), own.begin(), own.end());
    if (pads && !own.empty() && table.features[*one.feature].missing) words.emplace_back();
  }
  std::ranges::sort(words);
  words.erase(std::ranges::unique(words).begin(), words.end());
  for (const LookedUp& one : group) {
    if (!words.empty()) table.features[*one.feature].words = words;
  }
}

/// What a column, or the texts of a file, may give to look up.
struct Numbers {
  std::int64_t count = 0;  ///< 0: not known
  std::string text;        ///< "12 words, and one number for any other"
  std::string zero;        ///< what 0 stands for, if it is a word
};

/// `shares`: whether the words are those of other columns, too.
Numbers numbers_in(const AdaptedTable& table, const LookedUp& looked_up, const TableInput& input, bool shares) {
  if (!looked_up.feature) {
    const auto& texts = std::get<TableInput::Texts>(input.content);
    if (texts.vocabulary.empty()) return {kByteTokens, "texts, whose tokens are bytes", ""};
    return {std::ssize(texts.vocabulary), fmt::format("texts, of the tokens of {}", texts.vocabulary_name), ""};
  }
  const AdaptedColumn& column = table.features[*looked_up.feature];
  if (looked_up.bins > 0) {
    return {looked_up.bins, fmt::format("words in {} bins", looked_up.bins),
            looked_up.masks ? "" : "words of the first bin"};
  }
  if (!column.encoding) return {};
  const std::int64_t words = std::ssize(column.words);
  return {words + (column.has_unknown() ? 1 : 0),
          fmt::format("{} words{}{}", words, shares ? ", with those of columns that share its embedding" : "",
                      !column.has_unknown() ? ""
                      : shares              ? ", and one number for any other"
                                            : " and one number for any other"),
          column.words.empty() || column.words.front().empty()
              ? ""
              : fmt::format("the word '{}'", shortened(column.words.front()))};
}

void require_rows(const Numbers& numbers, const InputSpec& spec, const std::string& of, const std::string& origin) {
  const auto& lookups = spec.lookups;
  const auto least = std::ranges::min_element(lookups, {}, &LookupSpec::rows);
  if (least == lookups.end() || numbers.count <= least->rows) return;
  throw Error(
      fmt::format("{}: {} has {}: numbers from 0 to {}, but the embedding '{}' has input_dim: {}; write input_dim: {}",
                  origin, of, numbers.text, numbers.count - 1, least->layer, least->rows, numbers.count));
}

void require_padding(const Numbers& numbers, const InputSpec& spec, const std::string& of, const std::string& origin) {
  const auto masking = std::ranges::find(spec.lookups, true, &LookupSpec::masks_zero);
  if (masking == spec.lookups.end() || numbers.zero.empty()) return;
  throw Error(
      fmt::format("{}: mask_zero of '{}' takes 0 for padding, but in {} 0 is {}; leave mask_zero out, or, where empty "
                  "cells are padding, encode by index with missing: constant, which numbers them 0",
                  origin, masking->layer, of, numbers.zero));
}

}  // namespace

void number_together(AdaptedTable& table, const ExampleSpec* spec, const std::string& origin) {
  if (spec == nullptr) return;
  const std::vector<std::size_t> groups = groups_of(spec->inputs);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::vector<LookedUp> columns;
    bool pads = false;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] != group) continue;
      pads = pads || spec->inputs[i].pads_with_zero;
      const std::vector<LookedUp> own = looked_up_of(table, spec->inputs[i]);
      columns.insert(columns.end(), own.begin(), own.end());
    }
    if (!columns.empty()) number_group(table, columns, pads, origin);
  }
}

void check_lookups(const AdaptedTable& table, const ExampleSpec* spec, const std::string& origin) {
  if (spec == nullptr) return;
  const std::vector<std::size_t> groups = groups_of(spec->inputs);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const InputSpec& input = spec->inputs[i];
    if (input.trained) continue;
    std::set<std::string> together;  // columns
    for (std::size_t other = 0; other < groups.size(); ++other) {
      if (groups[other] != groups[i]) continue;
      for (const LookedUp& column : looked_up_of(table, spec->inputs[other])) together.insert(text_of(table, column));
    }
    for (const LookedUp& column : looked_up_of(table, input)) {
      const Numbers numbers = numbers_in(table, column, *table.find_input(input.name), together.size() > 1);
      require_rows(numbers, input, text_of(table, column), origin);
      require_padding(numbers, input, text_of(table, column), origin);
    }
  }
}

void check_lookups(std::int64_t tokens, const ExampleSpec* spec, const std::string& origin) {
  if (spec == nullptr || spec->inputs.front().trained) return;
  const std::string text = tokens == kByteTokens ? "256 tokens, one for each byte" : fmt::format("{} tokens", tokens);
  require_rows({tokens, text, ""}, spec->inputs.front(), "the text", origin);
}

}  // namespace mirrortrain::data
