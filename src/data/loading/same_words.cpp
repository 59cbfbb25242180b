#include "data/loading/same_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace mirrortrain::data {
namespace {

/// "'Aye' is new, 'Yes' is gone"; "" if two lists have the same words.
std::string changed_words(const std::vector<std::string>& now, const std::vector<std::string>& before) {
  const auto missing_in = [](const std::vector<std::string>& all, const std::vector<std::string>& words) {
    const auto is_new = [&](const std::string& word) { return !std::ranges::binary_search(all, word); };
    const auto found = std::ranges::find_if(words, is_new);
    return found == words.end() ? std::string() : "'" + shortened(*found) + "'";
  };
  const std::string added = missing_in(before, now), gone = missing_in(now, before);
  if (added.empty() || gone.empty()) return added.empty() ? gone.empty() ? "" : gone + " is gone" : added + " is new";
  return added + " is new, " + gone + " is gone";
}

}  // namespace

void require_same_words(const Adapted& now, const Adapted& before) {
  const auto require = [](const std::string& what, const std::string& changed) {
    if (changed.empty()) return;
    throw Error(
        fmt::format("{} are not those that the run was trained with: {}; give it the data that it was trained "
                    "on, or evaluate the new data as data.test",
                    what, changed));
  };
  for (const auto& [output, words] : now.classes) {
    require("the classes of the training data", changed_words(words, before.classes_of(output)));
  }
  for (const auto& [output, words] : before.classes) {
    require("the classes of the training data", changed_words(now.classes_of(output), words));
  }
  if (!now.table || !before.table || now.table->features.size() != before.table->features.size()) return;
  for (std::size_t i = 0; i < now.table->features.size(); ++i) {
    const AdaptedColumn& column = now.table->features[i];
    require("the words of " + now.table->text_of(column.column),
            changed_words(column.words, before.table->features[i].words));
  }
  for (const TableInput& input : now.table->inputs) {
    const TableInput* const known = before.table->find_input(input.name);
    const auto* const texts = std::get_if<TableInput::Texts>(&input.content);
    const auto* const before_texts = known != nullptr ? std::get_if<TableInput::Texts>(&known->content) : nullptr;
    if (texts == nullptr || before_texts == nullptr || texts->vocabulary == before_texts->vocabulary) continue;
    require(fmt::format("the tokens of '{}'", input.name), texts->vocabulary_name + " has changed");
  }
}

}  // namespace mirrortrain::data
