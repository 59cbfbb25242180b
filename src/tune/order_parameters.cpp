#include "tune/order_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "config/key_path.h"
#include "config/known_names.h"
#include "config/names.h"
#include "config/scalar.h"

namespace mirrortrain::tune {
namespace {

using config::Located;
using config::Value;
using Entry = std::pair<std::string, Located<SearchParameter>>;

/// Whether every type that the key may have takes whole numbers alone.
bool is_of_integers(const std::string& key, const SearchParameter& parameter, const config::Schema& root) {
  const auto path = config::parse_key_path(key);
  bool takes_integers = false, takes_numbers = false, takes_anything = false;
  for (const config::Schema& type : path ? config::types_at(root, *path) : std::vector<config::Schema>{}) {
    takes_integers |= type.kind == config::Schema::Kind::kInteger;
    takes_numbers |= type.kind == config::Schema::Kind::kNumber;
    takes_anything |= type.kind == config::Schema::Kind::kAny;
  }
  if (takes_integers || takes_numbers) return takes_integers && !takes_numbers;
  // A block's parameter has no type: whole ends are those of whole numbers, unless nothing would be between them.
  const auto is_whole = [](const std::optional<double>& number) { return !number || *number == std::floor(*number); };
  const bool is_wide = parameter.max.value_or(0) - parameter.min.value_or(0) > 1;
  return takes_anything && is_wide && is_whole(parameter.min) && is_whole(parameter.max) && is_whole(parameter.step);
}

bool are_ascending_numbers(const std::vector<Value>& values) {
  std::optional<double> last;
  for (const Value& value : values) {
    const auto number = config::as_number(value);
    if (!number || (last && *number <= *last)) return false;
    last = number;
  }
  return values.size() >= 3;
}

Parameter parameter_of(const Entry& entry, const config::Schema& root, config::Errors& errors) {
  const auto& [key, located] = entry;
  const SearchParameter& options = located.value;
  Parameter parameter;
  parameter.key = key;
  parameter.place = located.place;
  parameter.values = options.values;
  if (!options.is_range()) {
    parameter.kind = Parameter::Kind::kChoice;
    parameter.is_ordered = are_ascending_numbers(options.values);
    return parameter;
  }
  parameter.low = options.min.value_or(0);
  parameter.high = options.max.value_or(1);
  parameter.is_log = options.scale == SearchScale::kLog;
  parameter.step = options.step.value_or(0);
  if (is_of_integers(key, options, root)) {
    parameter.kind = Parameter::Kind::kInteger;
    if (parameter.step == 0) parameter.step = 1;
    for (const double number : {parameter.low, parameter.high, parameter.step}) {
      if (number == std::floor(number)) continue;
      errors.add(located.place, located.path,
                 fmt::format("{} takes integers, found {}; write whole numbers", key, number));
      break;
    }
  }
  // The last value of the steps is the end.
  if (parameter.step > 0) parameter.high = parameter.nth(parameter.count() - 1);
  return parameter;
}

/// The keys below `above` in `key`: {"type"} of "optimizer.type" below "optimizer"; nullopt if it is not below.
std::optional<std::vector<std::string>> keys_below(const std::string& key, const std::string& above) {
  if (key == above) return std::vector<std::string>{};
  if (!key.starts_with(above + ".")) return std::nullopt;
  const auto path = config::parse_key_path(std::string_view(key).substr(above.size() + 1));
  if (!path) return std::nullopt;
  std::vector<std::string> names;
  for (const config::KeyStep& step : *path) {
    const auto* const name = std::get_if<std::string>(&step);
    if (name == nullptr) return std::nullopt;
    names.push_back(*name);
  }
  return names;
}

class Ordering {
 public:
  Ordering(const SearchOptions& options, const config::Schema& root, config::Errors& errors)
      : entries_(options.parameters.entries), root_(root), errors_(errors), state_(entries_.size(), State::kOpen) {}

  std::vector<Parameter> all() {
    for (std::size_t i = 0; i < entries_.size(); ++i) add(i);
    return std::move(ordered_);
  }

 private:
  enum class State : std::uint8_t { kOpen, kBegun, kAdded };

  /// Adds a parameter after those that it depends on. Returns false in a circle.
  bool add(std::size_t number) {
    if (state_[number] != State::kOpen) return state_[number] == State::kAdded;
    state_[number] = State::kBegun;
    const auto& [key, located] = entries_[number];
    if (!config::parse_key_path(key)) {
      refuse(located, fmt::format("expected a key's path, as optimizer.learning_rate, found '{}'", shortened(key)));
    }
    for (std::size_t other = 0; other < entries_.size(); ++other) {  // a part of a searched section
      if (other != number && is_below(key, entries_[other].first)) add_before(other, located);
    }
    Parameter parameter = parameter_of(entries_[number], root_, errors_);
    for (const auto& [condition_key, wanted] : located.value.when.entries) {
      add_condition(condition_key, wanted, located, parameter);
    }
    state_[number] = State::kAdded;
    ordered_.push_back(std::move(parameter));
    return true;
  }

  static bool is_below(const std::string& key, const std::string& above) {
    return key.starts_with(above + ".") || key.starts_with(above + "[");
  }

  void add_before(std::size_t other, const Located<SearchParameter>& located) {
    if (add(other)) return;
    refuse(located,
           fmt::format("its conditions lead back to itself, through {}; remove one of them", entries_[other].first));
  }

  void add_condition(const std::string& key, const Value& wanted, const Located<SearchParameter>& located,
                     Parameter& parameter) {
    for (std::size_t other = 0; other < entries_.size(); ++other) {
      const auto below = keys_below(key, entries_[other].first);
      if (!below) continue;
      add_before(other, located);
      const auto found = std::ranges::find(ordered_, entries_[other].first, &Parameter::key);
      if (found == ordered_.end()) return;  // a circle, reported
      Condition condition{static_cast<std::size_t>(found - ordered_.begin()), *below,
                          wanted.is_sequence() ? wanted.items() : std::vector<Value>{wanted}};
      if (found->count() == 0) {
        refuse(located,
               fmt::format("when: {} may be any number of a range, and is one only by chance; give it a step, or "
                           "list its values",
                           key));
      } else if (can_hold(condition, *found)) {
        parameter.conditions.push_back(std::move(condition));
      } else {
        refuse(located,
               fmt::format("when: {} is never {}; it has to be one of its values", key, config::flow_text(wanted)));
      }
      return;
    }
    std::vector<std::string> known;
    for (const auto& [name, unused] : entries_) known.push_back(name);
    refuse(located,
           fmt::format("when: {} is not searched, so that the condition always or never holds; name one of the "
                       "other parameters{}",
                       key, config::suggestion_or_known(key, known)));
  }

  static bool can_hold(const Condition& condition, const Parameter& of) {
    const auto is_possible = [&](const Value& value) {
      const auto number = config::as_number(value);
      if (of.kind != Parameter::Kind::kChoice) return number && condition.below.empty() && of.may_be(*number);
      return true;
    };
    if (!std::ranges::all_of(condition.values, is_possible)) return false;
    if (of.kind != Parameter::Kind::kChoice) return !condition.values.empty();
    for (std::size_t i = 0; i < of.values.size(); ++i) {
      if (condition.holds(of, static_cast<double>(i))) return true;
    }
    return false;
  }

  void refuse(const Located<SearchParameter>& located, std::string message) {
    errors_.add(located.place, located.path, std::move(message));
  }

  const std::vector<Entry>& entries_;
  const config::Schema& root_;
  config::Errors& errors_;
  std::vector<State> state_;
  std::vector<Parameter> ordered_;
};

}  // namespace

std::vector<Parameter> order_parameters(const SearchOptions& options, const config::Schema& root,
                                        config::Errors& errors) {
  return Ordering(options, root, errors).all();
}

}  // namespace mirrortrain::tune
