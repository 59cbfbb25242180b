#include "tune/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/document.h"
#include "config/scalar.h"
#include "config/without_defaults.h"
#include "tune/order_parameters.h"

namespace mirrortrain::tune {
namespace {

using Json = nlohmann::ordered_json;
using config::Value;

bool are_equal(const Value& a, const Value& b) {
  const auto of_a = config::as_number(a), of_b = config::as_number(b);
  return of_a && of_b ? *of_a == *of_b : config::same(a, b);
}

/// What a path leads to inside of a value; null if it has no such key. `type` of `adam` alone is adam.
const Value* find_below(const Value& value, const std::vector<std::string>& path) {
  const Value* found = &value;
  for (const std::string& name : path) {
    if (found->is_scalar() && name == "type") continue;
    const Value::Entry* const entry = found->is_mapping() ? found->find(name) : nullptr;
    if (entry == nullptr) return nullptr;
    found = &entry->value;
  }
  return found;
}

std::string flow(const Value& value) {
  constexpr std::size_t kWhole = std::size_t{1} << 20;
  return config::flow_text(value, kWhole);
}

/// The number, rounded to so many decimals.
double rounded(double number, int decimals) { return std::stod(fmt::format("{:.{}f}", number, decimals)); }

constexpr int kMostDecimals = 17;

/// As many decimals as the number has in its shortest form, 2 of 0.25, or kMostDecimals.
int decimals_of(double number) {
  int decimals = 0;
  while (decimals < kMostDecimals && rounded(number, decimals) != number) ++decimals;
  return decimals;
}

/// The value of a range that a number stands for, which may have the error of a sum of steps, or of a logarithm.
std::optional<double> in_range(const Parameter& parameter, double number) {
  constexpr double kRelativeError = 1e-9;
  const double nearest = nearest_value(parameter, number);
  const double scale = parameter.step > 0 ? parameter.step : std::max(std::abs(nearest), std::abs(number));
  return std::abs(nearest - number) <= kRelativeError * scale ? std::optional(nearest) : std::nullopt;
}

}  // namespace

bool Condition::holds(const Parameter& of, double number) const {
  const Value value = of.value_of(number);
  const Value* const found = find_below(value, below);
  return found != nullptr &&
         std::ranges::any_of(values, [&](const Value& wanted) { return are_equal(*found, wanted); });
}

std::size_t Parameter::count() const {
  if (kind == Kind::kChoice) return values.size();
  return step > 0 ? static_cast<std::size_t>(std::floor((high - low) / step + 1e-9)) + 1 : 0;
}

double Parameter::nth(std::size_t index) const {
  return kind == Kind::kChoice ? static_cast<double>(index) : on_step(static_cast<double>(index));
}

double Parameter::on_step(double index) const {
  const double sum = low + index * step;
  const int decimals = std::max(decimals_of(low), decimals_of(step));
  return decimals < kMostDecimals ? rounded(sum, decimals) : sum;
}

Value Parameter::value_of(double number) const {
  if (kind == Kind::kChoice) return values.at(static_cast<std::size_t>(number));
  if (kind == Kind::kInteger) return Value::scalar(fmt::format("{:.0f}", number), false);
  return config::number_value(number);
}

double nearest_value(const Parameter& parameter, double number) {
  if (parameter.step > 0) number = parameter.on_step(std::nearbyint((number - parameter.low) / parameter.step));
  return std::clamp(number, parameter.low, parameter.high);
}

bool Parameter::may_be(double number) const {
  return number >= low && number <= high && (step == 0 || nearest_value(*this, number) == number);
}

std::optional<double> Parameter::number_from(const Json& value) const {
  if (kind != Kind::kChoice) return value.is_number() ? in_range(*this, value.get<double>()) : std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_its_yaml = value.is_string() && value.get<std::string>() == flow(values[i]);
    // Whatever the order of its keys.
    if (is_its_yaml || nlohmann::json(json_of(values[i])) == nlohmann::json(value)) return static_cast<double>(i);
  }
  return std::nullopt;
}

SearchSpace::SearchSpace(const SearchOptions& options, const config::Schema& root, config::Errors& errors)
    : parameters_(order_parameters(options, root, errors)) {}

bool SearchSpace::is_active(std::size_t parameter, const Point& point) const {
  return std::ranges::all_of(parameters_[parameter].conditions, [&](const Condition& condition) {
    const std::optional<double>& number = point[condition.parameter];
    return number && condition.holds(parameters_[condition.parameter], *number);
  });
}

std::vector<std::string> SearchSpace::settings(const Point& point) const {
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!point[i]) continue;
    settings.push_back(fmt::format("{}={}", parameters_[i].key, flow(parameters_[i].value_of(*point[i]))));
  }
  return settings;
}

Json SearchSpace::to_json(const Point& point) const {
  Json values = Json::object();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (point[i]) values[parameters_[i].key] = json_of(parameters_[i].value_of(*point[i]));
  }
  return values;
}

std::optional<Point> SearchSpace::from_json(const Json& values) const {
  Point point(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const auto found = values.find(parameter.key);
    if (found == values.end()) continue;
    point[i] = parameter.number_from(*found);
    if (!point[i]) return std::nullopt;
  }
  return point;
}

bool SearchSpace::fulfil(std::size_t parameter, Point& point) const {
  for (const Condition& condition : parameters_[parameter].conditions) {
    const Parameter& other = parameters_[condition.parameter];
    std::optional<double>& number = point[condition.parameter];
    if (number) {
      if (!condition.holds(other, *number)) return false;
      continue;
    }
    if (other.kind == Parameter::Kind::kChoice) {
      for (std::size_t i = 0; i < other.values.size() && !number; ++i) {
        if (condition.holds(other, static_cast<double>(i))) number = static_cast<double>(i);
      }
    } else if (!condition.values.empty()) {
      number = config::as_number(condition.values.front());
    }
    if (!number || !fulfil(condition.parameter, point)) return false;
  }
  return true;
}

std::optional<Point> SearchSpace::point_with(std::size_t parameter, double number) const {
  Point point(parameters_.size());
  point[parameter] = number;
  return fulfil(parameter, point) ? std::optional(std::move(point)) : std::nullopt;
}

Json json_of(const Value& value) {
  switch (config::meaning_of(value)) {
    case config::Meaning::kNull: return {};
    case config::Meaning::kBoolean: return *config::as_boolean(value);
    case config::Meaning::kInteger:
      if (const auto integer = config::as_integer(value)) return *integer;
      return value.text();
    case config::Meaning::kNumber:
      if (const auto number = config::as_number(value); number && std::isfinite(*number)) return *number;
      return value.text();
    case config::Meaning::kText: return value.text();
    case config::Meaning::kSequence: {
      Json items = Json::array();
      for (const Value& item : value.items()) items.push_back(json_of(item));
      return items;
    }
    case config::Meaning::kMapping: {
      Json entries = Json::object();
      for (const Value::Entry& entry : value.entries()) entries[entry.key] = json_of(entry.value);
      return entries;
    }
  }
  return {};
}

}  // namespace mirrortrain::tune
