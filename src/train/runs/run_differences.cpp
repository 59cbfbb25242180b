#include "train/runs/run_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "config/document.h"
#include "config/scalar.h"
#include "config/without_defaults.h"
#include "train/configuration/configuration.h"

namespace mirrortrain {
namespace {

using config::Value;

/// A part of a run's configuration: complete, and without defaults. Null if the run has none.
struct Side {
  const Value* whole = nullptr;
  const Value* given = nullptr;
};
using Sides = std::vector<Side>;

std::string text_of(const Side& side) {
  constexpr std::size_t kWhole = std::size_t{1} << 20;
  if (side.whole == nullptr) return "-";
  return config::flow_text(side.given != nullptr ? *side.given : *side.whole, kWhole);
}

const Value* find(const Value* value, const std::string& key) {
  const Value::Entry* const entry = value != nullptr && value->is_mapping() ? value->find(key) : nullptr;
  return entry != nullptr ? &entry->value : nullptr;
}

const Value* find(const Value* value, std::size_t index) {
  return value != nullptr && value->is_sequence() && index < value->items().size() ? &value->items()[index] : nullptr;
}

bool all_same(const Sides& sides) {
  return std::ranges::all_of(sides, [&](const Side& side) {
    const Value* const first = sides[0].whole;
    return first == nullptr || side.whole == nullptr ? first == side.whole : config::same(*first, *side.whole);
  });
}

/// Whether every run has a value here for which `is` holds.
bool all(const Sides& sides, const std::function<bool(const Value&)>& is) {
  return std::ranges::all_of(sides, [&](const Side& side) { return side.whole != nullptr && is(*side.whole); });
}

/// Whether names differ, like {dense: {units: 64}} and {conv2d: {filters: 8}}: their options are unrelated.
bool are_of_other_names(const Sides& sides) {
  const auto name = [](const Side& side) { return side.whole->entries().front().key; };
  return all(sides, [](const Value& value) { return value.entries().size() == 1; }) &&
         std::ranges::any_of(sides, [&](const Side& side) { return name(side) != name(sides[0]); });
}

class Differences {
 public:
  explicit Differences(std::vector<report::Difference>& found) : found_(found) {}

  /// A key that one run lacks is one entry, with all of its given values, unless none was given.
  void compare(const std::string& path, const Sides& sides) {
    if (all_same(sides)) return;
    const bool is_item = path.ends_with(']');
    const auto was_given = [&](const Side& side) { return side.given != nullptr || (is_item && side.whole); };
    if (std::ranges::none_of(sides, was_given)) return;
    if (all(sides, [](const Value& value) { return value.is_mapping() && !value.entries().empty(); })) {
      if (!are_of_other_names(sides)) return compare_keys(path, sides);
    } else if (all(sides, [](const Value& value) { return value.is_sequence(); }) && have_options(sides)) {
      return compare_items(path, sides);
    }
    report::Difference difference{path, {}};
    for (const Side& side : sides) difference.values.push_back(text_of(side));
    found_.push_back(std::move(difference));
  }

 private:
  /// Whether these are lists of layers and the like, not of names or numbers.
  static bool have_options(const Sides& sides) {
    return std::ranges::any_of(
        sides, [](const Side& side) { return std::ranges::any_of(side.whole->items(), &Value::is_mapping); });
  }

  void compare_keys(const std::string& path, const Sides& sides) {
    std::vector<std::string> keys;
    for (const Side& side : sides) {
      for (const Value::Entry& entry : side.whole->entries()) {
        if (std::ranges::count(keys, entry.key) == 0) keys.push_back(entry.key);
      }
    }
    for (const std::string& key : keys) {
      Sides below;
      for (const Side& side : sides) below.push_back({find(side.whole, key), find(side.given, key)});
      compare(config::joined(path, key), below);
    }
  }

  void compare_items(const std::string& path, const Sides& sides) {
    std::size_t most = 0;
    for (const Side& side : sides) most = std::max(most, side.whole->items().size());
    for (std::size_t i = 0; i < most; ++i) {
      Sides below;
      for (const Side& side : sides) below.push_back({find(side.whole, i), find(side.given, i)});
      compare(fmt::format("{}[{}]", path, i), below);
    }
  }

  std::vector<report::Difference>& found_;
};

/// Sorts the keys that affect a model's quality before the rest.
int rank_of(const report::Difference& difference) {
  constexpr std::array<std::string_view, 4> kFirst = {"model", "loss", "optimizer", "training"};
  const std::string section = difference.key.substr(0, difference.key.find_first_of(".["));
  return static_cast<int>(std::ranges::find(kFirst, section) - kFirst.begin());
}

/// Returns nothing if the file cannot be read: an old or damaged one must not prevent the comparison of others.
std::optional<Value> configuration_of(const RunFolder& run) {
  try {
    config::Errors errors;
    Value root = config::load(run.config().string(), {}, errors).root;
    // The name only identifies the run.
    if (root.is_mapping()) std::erase_if(root.entries(), [](const Value::Entry& entry) { return entry.key == "name"; });
    return root;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<report::Difference> configuration_differences(std::span<const RunFolder> runs) {
  const config::Schema schema = config::schema<Configuration>();
  std::vector<std::optional<Value>> whole;
  std::vector<Value> given;
  for (const RunFolder& run : runs) {
    whole.push_back(configuration_of(run));
    given.push_back(whole.back() ? config::without_defaults(*whole.back(), schema) : Value());
  }
  Sides sides;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (whole[i]) sides.push_back({&*whole[i], &given[i]});
  }
  std::vector<report::Difference> differences;
  if (sides.empty()) return differences;
  Differences(differences).compare("", sides);
  std::ranges::stable_sort(differences, {}, rank_of);
  for (report::Difference& difference : differences) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!whole[i]) difference.values.insert(difference.values.begin() + static_cast<std::ptrdiff_t>(i), "-");
    }
  }
  return differences;
}

}  // namespace mirrortrain
