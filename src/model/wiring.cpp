#include "model/wiring.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/scalar.h"

namespace mirrortrain {
namespace {

constexpr std::string_view kInputName = "input";

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && std::ranges::all_of(name, allowed);
}

class Wirer {
 public:
  Wirer(const std::vector<config::Located<Layer>>& layers, config::Errors& errors) : layers_(layers), errors_(errors) {}

  Wiring run() {
    const std::size_t errors_before = errors_.count();
    std::vector<bool> used(layers_.size(), false);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      wiring_.sources.push_back(sources_of(i));
      for (const int source : wiring_.sources.back()) {
        if (source >= 0) used[static_cast<std::size_t>(source)] = true;
      }
      // Named last, so that a layer cannot be its own input.
      wiring_.names.push_back(name_of(i));
    }
    // A wrong name leaves an output unused: told once is enough.
    for (std::size_t i = 0; errors_.count() == errors_before && i + 1 < layers_.size(); ++i) {
      if (!used[i])
        error(i, fmt::format("no layer uses the output of '{}'; name it in a layer's `inputs`", wiring_.names[i]));
    }
    return std::move(wiring_);
  }

 private:
  void error(std::size_t layer, std::string message) {
    errors_.add(layers_[layer].place, layers_[layer].path, std::move(message));
  }

  std::string name_of(std::size_t layer) {
    const auto& given = common_options(layers_[layer].value).name;
    const std::string type(type_name(layers_[layer].value));
    std::string name = given.value.value_or("");
    if (!given.value) {
      const int count = counters_[type]++;
      name = count == 0 ? type : fmt::format("{}_{}", type, count);
    } else if (!is_name(name)) {
      errors_.add(given.place, given.path,
                  fmt::format("expected a name of letters, digits, '_', '-' and '.', found '{}'", name));
      return name;
    } else if (name == kInputName) {
      errors_.add(given.place, given.path, "'input' is the model's input; choose another name");
      return name;
    }
    const auto [first, is_new] = numbers_.emplace(name, layer);
    if (!is_new && given.value) {
      errors_.add(given.place, given.path,
                  fmt::format("the name '{}' is taken by {}", name, layers_[first->second].path));
    } else if (!is_new) {
      error(layer, fmt::format("its own name would be '{}', which {} has; give it a `name`", name,
                               layers_[first->second].path));
    }
    return name;
  }

  std::vector<int> sources_of(std::size_t layer) {
    const LayerCommon& options = common_options(layers_[layer].value);
    std::vector<int> sources;
    for (const auto& input : options.inputs) sources.push_back(source_named(input));
    if (sources.empty()) sources.push_back(static_cast<int>(layer) - 1);  // of the first layer: kModelInput

    const bool merges = std::visit([](const auto& l) { return l.kMerges; }, layers_[layer].value);
    if (merges && sources.size() < 2) {
      error(layer, "expected at least two `inputs`, found one; name earlier layers, or `input`");
      return {Wiring::kUnknown};
    }
    if (!merges && sources.size() > 1) {
      error(layer, fmt::format("expected one input, found {}", sources.size()));
      sources.push_back(Wiring::kUnknown);
    }
    return sources;
  }

  int source_named(const config::Located<std::string>& input) {
    if (input.value == kInputName) return Wiring::kModelInput;
    if (const auto found = numbers_.find(input.value); found != numbers_.end()) return static_cast<int>(found->second);
    std::vector<std::string> names{std::string(kInputName)};
    for (const auto& [name, number] : numbers_) names.push_back(name);
    errors_.add(input.place, input.path,
                fmt::format("no earlier layer is named '{}'{}", input.value, config::suggestion(input.value, names)));
    return Wiring::kUnknown;
  }

  const std::vector<config::Located<Layer>>& layers_;
  config::Errors& errors_;
  Wiring wiring_;
  std::map<std::string, std::size_t> numbers_;  ///< the layers so far, by name
  std::map<std::string, int> counters_;         ///< unnamed layers so far, by type
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
