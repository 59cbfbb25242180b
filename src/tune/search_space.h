#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/errors.h"
#include "config/schema.h"
#include "train/configuration/search_options.h"

namespace mirrortrain::tune {

struct Parameter;

/// A condition of a parameter: another one has one of these values. `below` leads into a value that is a section:
/// `optimizer.type` where `optimizer` is searched.
struct Condition {
  std::size_t parameter = 0;  ///< an earlier one
  std::vector<std::string> below;
  std::vector<config::Value> values;

  /// Whether it holds where the parameter, `of`, has the value of this number.
  bool holds(const Parameter& of, double number) const;
};

/// A key that is searched, and what it may be.
struct Parameter {
  enum class Kind : std::uint8_t { kChoice, kInteger, kReal };
  std::string key;
  Kind kind = Kind::kReal;
  double low = 0, high = 0;  ///< of a range
  bool is_log = false;
  double step = 0;                    ///< of a range; 0: any number
  std::vector<config::Value> values;  ///< of a choice
  bool is_ordered = false;            ///< of a choice: three or more numbers, each larger than the one before it
  std::vector<Condition> conditions;  ///< all have to hold
  config::Place place;

  /// How many values there are; 0: more than can be counted.
  std::size_t count() const;
  /// Of the values in their order, as a point has it.
  double nth(std::size_t index) const;
  /// The value of a range after so many steps, without the error of its sum: 0.3, not 0.30000000000000004.
  double on_step(double index) const;
  /// Whether it is a value of a range.
  bool may_be(double number) const;
  /// As it would be written.
  config::Value value_of(double number) const;
  /// The reverse, of JSON: a number of the range, which may have the error of a sum of steps or of a logarithm, or one
  /// of the choices, of which a section has its keys in any order, or is its YAML on one line. nullopt for anything
  /// else.
  std::optional<double> number_from(const nlohmann::ordered_json& value) const;
};

/// The value of a range that is nearest to a number: on its steps, if it has any, and between its ends.
double nearest_value(const Parameter& parameter, double number);

/// A trial's place in the space: for each parameter the number of its value among the choices, or the number itself;
/// none if its conditions do not hold.
using Point = std::vector<std::optional<double>>;

/// The parameters of a search, each after those that its conditions name and after those that it is a part of.
class SearchSpace {
 public:
  SearchSpace() = default;
  /// Adds what is wrong with the section's parameters to `errors`. `root`: the schema of a configuration, which says
  /// which keys take whole numbers alone.
  SearchSpace(const SearchOptions& options, const config::Schema& root, config::Errors& errors);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Whether the conditions of a parameter hold, given those before it.
  bool is_active(std::size_t parameter, const Point& point) const;
  /// "optimizer.learning_rate=0.01" for each value of a point, as for `--set`, in an order in which none undoes
  /// another.
  std::vector<std::string> settings(const Point& point) const;
  /// The values by key, as JSON.
  nlohmann::ordered_json to_json(const Point& point) const;
  /// The reverse. nullopt where a value is not one of the parameter's.
  std::optional<Point> from_json(const nlohmann::ordered_json& values) const;
  /// A point with this value of one parameter and, where it has conditions, values with which they hold; others have
  /// none. nullopt if the conditions exclude each other.
  std::optional<Point> point_with(std::size_t parameter, double number) const;

 private:
  bool fulfil(std::size_t parameter, Point& point) const;

  std::vector<Parameter> parameters_;
};

/// A value as JSON.
nlohmann::ordered_json json_of(const config::Value& value);

}  // namespace mirrortrain::tune
