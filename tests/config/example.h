#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/document.h"

/// A small configuration that uses every kind of key, for the tests of its machinery.
namespace mirrortrain::example {

enum class Mode { kMin, kMax };

struct Zeros {
  static constexpr std::string_view kName = "zeros";
  static config::Section<Zeros> section() { return config::Section<Zeros>("All zeros."); }
};

struct Constant {
  static constexpr std::string_view kName = "constant";
  double value = 0.5;
  static config::Section<Constant> section() {
    return config::Section<Constant>("The same everywhere.").key("value", &Constant::value, "The value.");
  }
};

using Initializer = std::variant<Zeros, Constant>;

struct LayerCommon {
  std::optional<std::string> name;
  static config::Section<LayerCommon> section() {
    return config::Section<LayerCommon>("Common.").key("name", &LayerCommon::name, "The layer's name.");
  }
};

struct Dense : LayerCommon {
  static constexpr std::string_view kName = "dense";
  std::int64_t units = 0;
  bool use_bias = true;
  Initializer kernel_initializer = Zeros{};
  static config::Section<Dense> section() {
    return config::Section<Dense>("Fully connected.")
        .key("units", &Dense::units, "Outputs.", config::required, config::at_least(1))
        .key("use_bias", &Dense::use_bias, "Adds a bias.")
        .key("kernel_initializer", &Dense::kernel_initializer, "The kernel's first values.")
        .include<LayerCommon>();
  }
};

struct Conv : LayerCommon {
  static constexpr std::string_view kName = "conv2d";
  std::int64_t filters = 1;
  std::array<std::int64_t, 2> kernel_size = {1, 1};
  static config::Section<Conv> section() {
    return config::Section<Conv>("Convolution.")
        .key("filters", &Conv::filters, "Outputs.", config::at_least(1))
        .key("kernel_size", &Conv::kernel_size, "Height, width.", config::scalar_fills, config::at_least(1))
        .include<LayerCommon>();
  }
};

struct Flatten {
  static constexpr std::string_view kName = "flatten";
  static config::Section<Flatten> section() { return config::Section<Flatten>("One axis."); }
};

using Layer = std::variant<Dense, Conv, Flatten>;

struct Decay {
  static constexpr std::string_view kName = "cosine_decay";
  static constexpr std::string_view kAliases = "cosine";
  std::int64_t steps = 0;
  static config::Section<Decay> section() {
    return config::Section<Decay>("Cosine.").key("steps", &Decay::steps, "Length.", config::required);
  }
};

using LearningRate = std::variant<double, Decay>;

struct Sgd {
  static constexpr std::string_view kName = "sgd";
  LearningRate learning_rate = 0.01;
  float momentum = 0.0f;
  bool nesterov = false;
  static config::Section<Sgd> section() {
    return config::Section<Sgd>("Gradient descent.")
        .key("learning_rate", &Sgd::learning_rate, "Step size.", config::at_least(0))
        .key("momentum", &Sgd::momentum, "Memory.", config::at_least(0), config::less_than(1))
        .key("nesterov", &Sgd::nesterov, "Looks ahead.")
        .check("nesterov", [](const Sgd& sgd) -> std::string {
          return sgd.nesterov && sgd.momentum == 0 ? "needs a momentum above 0" : "";
        });
  }
};

struct Adam {
  static constexpr std::string_view kName = "adam";
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  static config::Section<Adam> section() {
    return config::Section<Adam>("Adam.")
        .key("learning_rate", &Adam::learning_rate, "Step size.", config::at_least(0))
        .key("beta_1", &Adam::beta_1, "First moment.", config::between(0, 1));
  }
};

using Optimizer = std::variant<Sgd, Adam>;

struct Fraction {
  double fraction = 0;
  static config::Section<Fraction> section() {
    return config::Section<Fraction>("A part of train.")
        .key("fraction", &Fraction::fraction, "How much.", config::required, config::greater_than(0),
             config::less_than(1));
  }
};

struct Idx {
  static constexpr std::string_view kName = "idx";
  config::Path images;
  static config::Section<Idx> section() {
    return config::Section<Idx>("IDX files.").key("images", &Idx::images, "The file.", config::required);
  }
};

struct Inline {
  static constexpr std::string_view kName = "inline";
  config::Value features;
  static config::Section<Inline> section() {
    return config::Section<Inline>("In the file.").key("features", &Inline::features, "Rows.", config::required);
  }
};

using Validation = std::variant<Fraction, Idx, Inline>;

struct Save {
  std::string metric = "loss";
  Mode mode = Mode::kMin;
  static config::Section<Save> section();
};

struct Root {
  std::string name = "run";
  std::uint64_t seed = 0;
  std::vector<config::Located<Layer>> layers;
  config::Located<Optimizer> optimizer{Adam{}, {}, {}};
  config::Located<std::optional<Validation>> validation;
  std::optional<Save> save;
  std::variant<std::string, std::vector<std::string>> devices = "all";
  config::Size pack{25u << 20};
  float scale = 0.1f;
  int threads = 2;
  std::string precision = "float32";
  config::Located<std::int64_t> steps;
  static config::Section<Root> section();
};

/// Reads text as the file `a.yaml`; returns the errors' text, or "" where all is right.
std::string errors_of(std::string_view text, const std::vector<std::string>& overrides = {});

/// Reads text that must be right.
Root root_of(std::string_view text, const std::vector<std::string>& overrides = {});

}  // namespace mirrortrain::example

template <>
struct mirrortrain::config::EnumNames<mirrortrain::example::Mode> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::example::Mode>>(
      {{"min", mirrortrain::example::Mode::kMin}, {"max", mirrortrain::example::Mode::kMax}});
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::example::Initializer> {
  static constexpr std::string_view tag = "type", noun = "an initializer";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::example::Layer> {
  static constexpr std::string_view noun = "a layer";
  static constexpr bool set_keeps_name = true;
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::example::LearningRate> {
  static constexpr std::string_view tag = "schedule", noun = "a schedule";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::example::Optimizer> {
  static constexpr std::string_view tag = "type", noun = "an optimizer";
};
template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::example::Validation> {
  static constexpr std::string_view tag = "format", noun = "a data source";
};
