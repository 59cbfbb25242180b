#include "model/blocks/fill_parameters.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "config/known_names.h"
#include "config/scalar.h"

namespace mirrortrain {
namespace {

using config::Place;
using config::Value;

class Filling {
 public:
  Filling(const Parameters& parameters, const std::string& of, const std::shared_ptr<const std::string>& use,
          const std::string& path, config::Errors& errors)
      : parameters_(parameters), of_(of), use_(use), path_(path), errors_(errors) {}

  Value fill(const Value& value) const {
    const Place place = used(value.place());
    switch (value.kind()) {
      case Value::Kind::kNull: return Value::null(place);
      case Value::Kind::kScalar: return scalar(value, place);
      case Value::Kind::kSequence: {
        std::vector<Value> items;
        for (const Value& item : value.items()) items.push_back(fill(item));
        return Value::sequence(std::move(items), place);
      }
      case Value::Kind::kMapping: break;
    }
    std::vector<Value::Entry> entries;
    for (const Value::Entry& entry : value.entries()) {
      const bool is_repeat = entry.key == "repeat" && entry.value.is_mapping();
      entries.push_back({entry.key, used(entry.key_place), is_repeat ? fill_repeat(entry.value) : fill(entry.value)});
    }
    return Value::mapping(std::move(entries), place);
  }

 private:
  /// All but its layers.
  Value fill_repeat(const Value& repeat) const {
    std::vector<Value::Entry> entries;
    for (const Value::Entry& entry : repeat.entries()) {
      entries.push_back({entry.key, used(entry.key_place), entry.key == "layers" ? entry.value : fill(entry.value)});
    }
    return Value::mapping(std::move(entries), used(repeat.place()));
  }

  Place used(Place place) const {
    if (place.given()) place.use = use_;
    return place;
  }

  Value scalar(const Value& value, const Place& place) const {
    const std::string& text = value.text();
    if (text.size() > 1 && text[0] == '$' && text[1] != '{') {
      const std::string name = text.substr(1);
      const Value* parameter = find(name, place);
      return parameter == nullptr ? Value::null(place).reported() : *parameter;
    }
    if (text.find("${") == std::string::npos) return Value::scalar(text, value.quoted(), place);
    auto filled = with_texts(text, place);
    if (!filled) return Value::null(place).reported();
    return Value::filled_scalar(std::move(*filled), value.quoted(), place);
  }

  /// nullopt if a parameter is missing, which is reported.
  std::optional<std::string> with_texts(const std::string& text, const Place& place) const {
    std::string filled;
    bool is_whole = true;
    std::size_t done = 0;
    for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", done)) {
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos) break;
      filled += text.substr(done, at - done);
      const std::string name = text.substr(at + 2, end - at - 2);
      const Value* parameter = find(name, place);
      if (parameter != nullptr && parameter->is_scalar()) {
        filled += parameter->text();
      } else {
        is_whole = false;
        if (parameter != nullptr && !parameter->is_reported()) {
          errors_.add_as_written(
              place, path_, fmt::format("the parameter '{}' is no text, found {}", name, config::describe(*parameter)));
        }
      }
      done = end + 1;
    }
    return is_whole ? std::optional(filled + text.substr(done)) : std::nullopt;
  }

  const Value* find(const std::string& name, const Place& place) const {
    if (const auto found = parameters_.find(name); found != parameters_.end()) return &found->second;
    std::vector<std::string> known;
    for (const auto& [key, value] : parameters_) known.push_back(key);
    errors_.add_as_written(place, path_,
                           fmt::format("the {} has no parameter '{}'{}", of_, config::shortened(name),
                                       config::suggestion_or_known(name, known)));
    return nullptr;
  }

  const Parameters& parameters_;
  const std::string& of_;
  const std::shared_ptr<const std::string>& use_;
  const std::string& path_;
  config::Errors& errors_;
};

}  // namespace

Value fill_parameters(const Value& value, const Parameters& parameters, const std::string& of,
                      const std::shared_ptr<const std::string>& use, const std::string& path, config::Errors& errors) {
  return Filling(parameters, of, use, path, errors).fill(value);
}

}  // namespace mirrortrain
