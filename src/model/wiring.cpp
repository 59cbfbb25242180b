#include "model/wiring.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "config/scalar.h"

namespace mirrortrain {
namespace {

constexpr std::string_view kInputName = "input";

// Beyond ASCII, letters of every script: only controls, spaces and invisible characters are rejected.
bool is_name(std::string_view name) {
  const auto allowed = [](char32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || (c >= 0x80 && is_visible(c));
  };
  bool good = !name.empty();
  while (good && !name.empty()) {
    const auto [code, bytes] = first_character(name);
    good = bytes > 0 && allowed(code);
    name.remove_prefix(bytes);
  }
  return good;
}

class Wirer {
 public:
  Wirer(const std::vector<config::Located<Layer>>& layers, config::Errors& errors) : layers_(layers), errors_(errors) {
    for (const auto& layer : layers) {
      wiring_.states.push_back(read_state(layer.path, errors));
      const bool has_options = wiring_.states.back() != ReadState::kNot;
      defaults_known_ = defaults_known_ && (has_options || is_named(layer.value));
      names_known_ = names_known_ && !errors.concern(layer.path + ".name");
      inputs_known_ = inputs_known_ && has_options && !errors.concern(layer.path + ".inputs");
    }
  }

  Wiring run() {
    std::vector<bool> used(layers_.size(), false);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      wiring_.sources.push_back(sources_of(i));
      for (const int source : wiring_.sources.back()) {
        if (source >= 0) used[static_cast<std::size_t>(source)] = true;
      }
      // Named last, so that a layer cannot be its own input.
      wiring_.names.push_back(name_of(i));
    }
    const bool all_known = names_known_ && defaults_known_ && inputs_known_ && !has_wrong_name_;
    for (std::size_t i = 0; all_known && i + 1 < layers_.size(); ++i) {
      if (!used[i])
        error(i, fmt::format("no layer uses the output of '{}'; name it in a layer's `inputs`",
                             config::shortened(wiring_.names[i])));
    }
    return std::move(wiring_);
  }

 private:
  void error(std::size_t layer, std::string message) {
    errors_.add(layers_[layer].place, layers_[layer].path, std::move(message));
  }

  std::string wrong_name(std::size_t layer, std::string message) {
    const auto& name = common_options(layers_[layer].value).name;
    errors_.add(name.place, name.path, std::move(message));
    has_wrong_name_ = true;
    numbers_.emplace(name.value.value(), layer);  // so that references to it resolve
    return name.value.value();
  }

  static bool is_named(const Layer& layer) {
    const std::optional<std::string>& name = common_options(layer).name.value;
    return name && !name->starts_with(kUnreadName);
  }

  /// Whether an unnamed layer, also one of unknown type, could have the name, such as "conv2d_3".
  bool is_default_name(const std::string& name) const {
    const std::size_t end = name.find_last_not_of("0123456789");
    const bool is_numbered = end != std::string::npos && end + 1 < name.size() && name[end] == '_';
    const auto is_type = [&](const std::string& type) {
      return is_one_of(static_cast<const Layer*>(nullptr), type) || numbers_.contains(std::string(kUnreadName) + type);
    };
    return is_type(name) || (is_numbered && is_type(name.substr(0, end)));
  }

  template <class... Types>
  static bool is_one_of(const std::variant<Types...>*, std::string_view name) {
    return ((name == Types::kName) || ...);
  }

  std::string name_of(std::size_t layer) {
    const std::optional<std::string>& given = common_options(layers_[layer].value).name.value;
    const std::string type(type_name(layers_[layer].value));
    if (wiring_.states[layer] == ReadState::kNot) {
      if (given) numbers_.emplace(*given, layer);
      return given.value_or("");
    }
    if (errors_.concern(layers_[layer].path + ".name")) return type;
    if (given && !is_name(*given)) {
      const bool has_slash = given->find('/') != std::string::npos;
      return wrong_name(
          layer, fmt::format("expected a name of letters (of any script), digits, '_', '-' and '.', found '{}'{}",
                             config::shortened(*given),
                             has_slash ? "; '/' separates a layer's name from its variables' names" : ""));
    }
    if (given == kInputName) return wrong_name(layer, "'input' is the model's input; choose another name");

    std::string name = given.value_or(type);
    if (!given && counters_[type]++ > 0) name += fmt::format("_{}", counters_[type] - 1);
    const auto [first, is_new] = numbers_.emplace(name, layer);
    const std::string& owner = layers_[first->second].path;
    if (!is_new && given)
      return wrong_name(layer, fmt::format("the name '{}' is taken by {}", config::shortened(name), owner));
    if (!is_new && names_known_ && defaults_known_ && !has_wrong_name_) {
      error(layer, fmt::format("its default name would be '{}', which {} has; give it a `name`", name, owner));
    }
    return name;
  }

  std::vector<int> sources_of(std::size_t layer) {
    const LayerCommon& options = common_options(layers_[layer].value);
    if (errors_.concern(layers_[layer].path + ".inputs")) return {Wiring::kUnknown};
    std::vector<int> sources;
    for (const auto& input : options.inputs) sources.push_back(source_named(input));
    if (sources.empty()) sources.push_back(static_cast<int>(layer) - 1);  // of the first layer: kModelInput

    const auto [fewest, most] =
        std::visit([](const auto& l) { return std::pair(l.kFewestInputs, l.kMostInputs); }, layers_[layer].value);
    if (sources.size() < fewest) {
      error(layer, "expected at least two `inputs`, found one; name earlier layers, or `input`");
      inputs_known_ = false;
      return {Wiring::kUnknown};
    }
    if (sources.size() > most) {
      error(layer, fmt::format("expected {}, found {}", most == 1 ? "one input" : "one or two inputs", sources.size()));
      sources.push_back(Wiring::kUnknown);
    }
    return sources;
  }

  int source_named(const config::Located<std::string>& input) {
    if (input.value == kInputName) return Wiring::kModelInput;
    if (const auto found = numbers_.find(input.value); found != numbers_.end()) return static_cast<int>(found->second);
    inputs_known_ = false;
    // It may name a layer that could not be read.
    if (!names_known_ || (!defaults_known_ && is_default_name(input.value))) return Wiring::kUnknown;
    std::vector<std::string> names{std::string(kInputName)};
    for (const auto& [name, number] : numbers_) {
      if (!name.starts_with(kUnreadName)) names.push_back(name);
    }
    errors_.add(input.place, input.path,
                fmt::format("no earlier layer is named '{}'{}", config::shortened(input.value),
                            config::suggestion(input.value, names)));
    return Wiring::kUnknown;
  }

  const std::vector<config::Located<Layer>>& layers_;
  config::Errors& errors_;
  Wiring wiring_;
  std::map<std::string, std::size_t> numbers_;  ///< the layers so far, by name
  std::map<std::string, int> counters_;         ///< unnamed layers so far, by type
  // An error in a name may be why another one seems missing, or an output unused: one report is enough.
  bool names_known_ = true, defaults_known_ = true, inputs_known_ = true, has_wrong_name_ = false;
};

}  // namespace

const LayerCommon& common_options(const Layer& layer) {
  return std::visit([](const auto& options) -> const LayerCommon& { return options; }, layer);
}

std::string_view type_name(const Layer& layer) {
  return std::visit([](const auto& options) { return options.kName; }, layer);
}

Wiring wire_layers(const std::vector<config::Located<Layer>>& layers, config::Errors& errors) {
  return Wirer(layers, errors).run();
}

}  // namespace mirrortrain
