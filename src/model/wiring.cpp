#include "model/wiring.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/utf8.h"
#include "config/known_names.h"
#include "config/scalar.h"

namespace mirrortrain {
namespace {

/// The model's input where it has one.
constexpr std::string_view kInputName = "input";
constexpr std::string_view kIndexName = "index";
/// In `loss`, a mapping with it is one loss, rather than one from outputs to losses.
constexpr std::string_view kTypeKey = "type";

// Beyond ASCII, letters of every script: only controls, spaces and invisible characters are rejected.
bool is_name(std::string_view name) {
  const auto allowed = [](char32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || (c >= 0x80 && is_visible(c));
  };
  bool good = name.find_first_not_of('.') != std::string_view::npos;  // not empty, and no folder
  while (good && !name.empty()) {
    const auto [code, bytes] = first_character(name);
    good = bytes > 0 && allowed(code);
    name.remove_prefix(bytes);
  }
  return good;
}

std::string expected_name(std::string_view found) {
  return fmt::format("expected a name of letters (of any script), digits, '_', '-' and '.', found '{}'",
                     config::shortened(std::string(found)));
}

class Wirer {
 public:
  Wirer(const ModelOptions& options, config::Errors& errors)
      : options_(options), layers_(options.layers), errors_(errors) {
    wiring_.shapes_known = !errors.concern("model.input_shape") && !errors.concern("model.inputs");
    for (const ModelInputOptions& input : options.all_inputs()) wiring_.inputs.push_back(input.name);
    for (const auto& layer : layers_) {
      wiring_.states.push_back(read_state(layer.path, errors));
      const bool has_options = wiring_.states.back() != ReadState::kNot;
      defaults_known_ = defaults_known_ && (has_options || is_named(layer.value));
      names_known_ = names_known_ && !errors.concern(layer.path + ".name");
      inputs_known_ = inputs_known_ && has_options && !errors.concern(layer.path + ".inputs");
    }
  }

  Wiring run() {
    check_inputs();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      wiring_.sources.push_back(sources_of(i));
      wiring_.weights_of.push_back(weights_of(i));
      // Named last, so that a layer cannot be its own input.
      wiring_.names.push_back(name_of(i));
    }
    find_outputs();
    find_used();
    if (names_known_ && defaults_known_ && inputs_known_ && !has_wrong_name_) report_unused();
    return std::move(wiring_);
  }

 private:
  void check_inputs() {
    for (const ModelInputOptions& input : options_.all_inputs()) {
      if (is_name(input.name)) continue;
      errors_.add(input.place, "model.inputs." + config::shortened(input.name), expected_name(input.name));
    }
  }

  /// The layer's number as a source.
  int source_of(std::size_t layer) const { return static_cast<int>(wiring_.inputs.size() + layer); }

  void find_outputs() {
    static const std::vector<config::Located<std::string>> none;
    const auto& outputs = options_.outputs ? *options_.outputs : none;
    for (const auto& output : outputs) {
      const auto found = numbers_.find(output.value);
      if (found == numbers_.end()) {
        refuse_output(output);
      } else if (output.value == kTypeKey && outputs.size() > 1) {
        inputs_known_ = false;  // it is an output by another name
        errors_.add(
            output.place, output.path,
            fmt::format("'{}' is the key that says which loss one is, so that no output can have the name among "
                        "others; choose another name",
                        kTypeKey));
      } else if (output.value == kIndexName && outputs.size() > 1) {
        inputs_known_ = false;  // it is an output by another name
        errors_.add(output.place, output.path,
                    fmt::format("'{}' is the column of predictions that numbers the examples; choose another name",
                                kIndexName));
      } else if (std::ranges::count(wiring_.outputs, found->second) > 0) {
        errors_.add(output.place, output.path,
                    fmt::format("the output '{}' is listed twice", config::shortened(output.value)));
      } else {
        wiring_.outputs.push_back(found->second);
      }
    }
    if (outputs.empty() && !layers_.empty()) wiring_.outputs.push_back(layers_.size() - 1);
  }

  void refuse_output(const config::Located<std::string>& output) {
    inputs_known_ = false;
    if (!names_known_ || (!defaults_known_ && is_default_name(output.value))) return;
    const bool is_input = std::ranges::count(wiring_.inputs, output.value) > 0;
    errors_.add(output.place, output.path,
                is_input ? fmt::format("'{}' is an input of the model; an output is the name of a layer", output.value)
                         : fmt::format("no layer is named '{}'{}", config::shortened(output.value),
                                       suggested(output.value, layer_names())));
  }

  void find_used() {
    wiring_.used.assign(layers_.size(), false);
    for (const std::size_t output : wiring_.outputs) wiring_.used[output] = true;
    reads_.assign(wiring_.inputs.size(), false);
    for (std::size_t i = layers_.size(); i-- > 0;) {
      if (!wiring_.used[i]) continue;
      for (const int source : wiring_.sources[i]) {
        if (wiring_.is_input(source)) reads_[static_cast<std::size_t>(source)] = true;
        if (source >= 0 && !wiring_.is_input(source)) wiring_.used[wiring_.layer_of(source)] = true;
      }
      wiring_.used[wiring_.weights_of[i]] = true;  // it is where their weights are made
    }
  }

  void report_unused() {
    std::vector<bool> is_read(layers_.size(), false);
    for (const auto& sources : wiring_.sources) {
      for (const int source : sources) {
        if (source >= 0 && !wiring_.is_input(source)) is_read[wiring_.layer_of(source)] = true;
      }
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (wiring_.used[i] || is_read[i]) continue;  // what follows it is named
      errors_.warn(layers_[i].place, layers_[i].path,
                   fmt::format("no layer and no output uses the output of '{}', so it is left out of the model; name "
                               "it in a layer's `inputs` or in model.outputs",
                               config::shortened(wiring_.names[i])));
    }
    const std::vector<ModelInputOptions> inputs = options_.all_inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (reads_[i]) continue;
      errors_.add(inputs[i].place, inputs[i].path,
                  fmt::format("no layer that an output depends on reads the input '{}'; name it in a layer's `inputs`, "
                              "or leave it out",
                              inputs[i].name));
    }
  }

  std::vector<std::string> layer_names() const {
    std::vector<std::string> names;
    for (const auto& [name, number] : numbers_) {
      if (!name.starts_with(kUnreadName)) names.push_back(name);
    }
    return names;
  }

  /// "; did you mean 'dense'?", or the names that there are. Layers without a name have their type's.
  static std::string suggested(std::string_view name, const std::vector<std::string>& names) {
    return config::suggestion_or_known(name, names, config::names_of_choice<Layer>());
  }

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
      return is_layer_type(type) || numbers_.contains(std::string(kUnreadName) + type);
    };
    return is_type(name) || (is_numbered && is_type(name.substr(0, end)));
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
          layer, expected_name(*given) + (has_slash ? "; '/' separates a layer's name from its variables' names" : ""));
    }
    if (given == kInputName) return wrong_name(layer, "'input' is the model's input; choose another name");
    if (given && std::ranges::count(wiring_.inputs, *given) > 0) {
      return wrong_name(layer, fmt::format("'{}' is an input of the model; choose another name", *given));
    }

    const std::string name = given ? *given : default_name(type, counters_);
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
    if (sources.empty() && layer > 0) sources.push_back(source_of(layer - 1));
    if (sources.empty() && wiring_.inputs.size() == 1) sources.push_back(0);
    if (sources.empty()) {
      inputs_known_ = false;
      // The inputs of a layer that could not be read are not known.
      if (wiring_.inputs.size() > 1 && wiring_.states[layer] == ReadState::kWhole) {
        error(layer, fmt::format("expected `inputs`, as the model has several: {}", fmt::join(wiring_.inputs, ", ")));
      }
      return {Wiring::kUnknown};
    }

    const auto [fewest, most] = input_counts(layer);
    if (sources.size() < fewest) {
      error(layer, fmt::format("expected at least two `inputs`, found one; name earlier layers, or {}",
                               wiring_.inputs.size() > 1 ? "inputs of the model" : "`input`"));
      inputs_known_ = false;
      return {Wiring::kUnknown};
    }
    if (sources.size() > most) {
      constexpr auto kNumbers = std::to_array<std::string_view>({"no", "one", "two", "three"});
      const std::string expected = fewest == most ? fmt::format("{} input{}", kNumbers[most], most == 1 ? "" : "s")
                                                  : fmt::format("{} {} {} inputs", kNumbers[fewest],
                                                                most - fewest == 1 ? "or" : "to", kNumbers[most]);
      error(layer, fmt::format("expected {}, found {}", expected, sources.size()));
      sources.push_back(Wiring::kUnknown);
    }
    return sources;
  }

  /// The fewest and the most inputs of a layer; those of a reuse are the reused layer's.
  std::pair<std::size_t, std::size_t> input_counts(std::size_t layer) const {
    const auto* const reuse = config::get_if<layers::Reuse>(&layers_[layer].value);
    const auto found = reuse != nullptr ? numbers_.find(reuse->layer.value) : numbers_.end();
    const std::size_t counted = found != numbers_.end() ? wiring_.weights_of[found->second] : layer;
    return config::visit([](const auto& l) { return std::pair(l.kFewestInputs, l.kMostInputs); },
                         layers_[counted].value);
  }

  int source_named(const config::Located<std::string>& input) {
    const auto of_model = std::ranges::find(wiring_.inputs, input.value);
    if (of_model != wiring_.inputs.end()) return static_cast<int>(of_model - wiring_.inputs.begin());
    if (input.value == kInputName && wiring_.inputs.size() == 1) return 0;
    if (const auto found = numbers_.find(input.value); found != numbers_.end()) return source_of(found->second);
    inputs_known_ = false;
    // It may name a layer that could not be read.
    if (!names_known_ || (!defaults_known_ && is_default_name(input.value))) return Wiring::kUnknown;
    std::vector<std::string> names = layer_names();
    names.insert(names.begin(), wiring_.inputs.begin(), wiring_.inputs.end());
    const std::string hint = input.value == kInputName ? fmt::format("; the model has several inputs: name one of {}",
                                                                     fmt::join(wiring_.inputs, ", "))
                                                       : suggested(input.value, names);
    errors_.add(
        input.place, input.path,
        fmt::format("no earlier layer{} is named '{}'{}", wiring_.inputs.size() > 1 ? " and no input of the model" : "",
                    config::shortened(input.value), hint));
    return Wiring::kUnknown;
  }

  /// The layer whose weights this one has.
  std::size_t weights_of(std::size_t layer) {
    const auto* const reuse = config::get_if<layers::Reuse>(&layers_[layer].value);
    if (reuse == nullptr) return layer;
    if (wiring_.states[layer] != ReadState::kWhole) {  // nothing is built of it
      inputs_known_ = false;
      wiring_.states[layer] = ReadState::kNot;
      return layer;
    }
    const auto found = numbers_.find(reuse->layer.value);
    if (found != numbers_.end()) return wiring_.weights_of[found->second];
    inputs_known_ = false;
    wiring_.states[layer] = ReadState::kNot;
    if (!names_known_ || (!defaults_known_ && is_default_name(reuse->layer.value))) return layer;
    errors_.add(reuse->layer.place, reuse->layer.path,
                fmt::format("no earlier layer or use of a block is named '{}'{}", config::shortened(reuse->layer.value),
                            suggested(reuse->layer.value, layer_names())));
    return layer;
  }

  const ModelOptions& options_;
  const std::vector<config::Located<Layer>>& layers_;
  config::Errors& errors_;
  Wiring wiring_;
  std::map<std::string, std::size_t> numbers_;  ///< the layers so far, by name
  std::map<std::string, int> counters_;         ///< unnamed layers so far, by type
  std::vector<bool> reads_;                     ///< of the model's inputs: whether a used layer reads it
  // An error in a name may be why another one seems missing, or an output unused: one report is enough.
  bool names_known_ = true, defaults_known_ = true, inputs_known_ = true, has_wrong_name_ = false;
};

}  // namespace

const LayerCommon& common_options(const Layer& layer) {
  return config::visit([](const auto& options) -> const LayerCommon& { return options; }, layer);
}

std::string_view type_name(const Layer& layer) {
  return config::visit([](const auto& options) { return options.kName; }, layer);
}

std::string default_name(const std::string& type, std::map<std::string, int>& counters) {
  const int before = counters[type]++;
  return before == 0 ? type : fmt::format("{}_{}", type, before);
}

Wiring wire_layers(const ModelOptions& options, config::Errors& errors) { return Wirer(options, errors).run(); }

Wiring wiring_of(const ModelOptions& options) {
  config::Errors reported;
  return wire_layers(options, reported);
}

}  // namespace mirrortrain
