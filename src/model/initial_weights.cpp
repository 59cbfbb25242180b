#include "model/initial_weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "config/errors.h"
#include "config/known_names.h"
#include "config/scalar.h"

namespace mirrortrain {
namespace {

using Matches = std::vector<std::string_view>;  ///< of each `*`

/// Whether a glob matches all of `text`, each `*` matching as little as possible; the matched parts are added to
/// `matches`.
bool match(std::string_view glob, std::string_view text, Matches& matches) {
  const std::size_t plain = std::min(glob.find('*'), glob.size());
  if (!text.starts_with(glob.substr(0, plain))) return false;
  if (plain == glob.size()) return text.size() == plain;
  text.remove_prefix(plain);
  for (std::size_t length = 0; length <= text.size(); ++length) {
    matches.push_back(text.substr(0, length));
    if (match(glob.substr(plain + 1), text.substr(length), matches)) return true;
    matches.pop_back();
  }
  return false;
}

std::string filled(std::string_view name, const Matches& matches) {
  std::string text;
  auto next = matches.begin();
  for (const char c : name) {
    if (c == '*' && next != matches.end()) {
      text += *next++;
    } else {
      text += c;
    }
  }
  return text;
}

WeightSource as_source(const NamedWeight& weight) {
  if (const auto* name = std::get_if<std::string>(&weight)) return {.name = *name, .transpose = {}};
  return std::get<WeightSource>(weight);
}

std::string order_error(const std::vector<std::int64_t>& transpose) {
  const auto rank = std::ssize(transpose);
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (std::ranges::count(transpose, axis) == 1) continue;
    return fmt::format("expected each of 0 to {} once, one for each axis of the tensor", rank - 1);
  }
  return "";
}

}  // namespace

config::Section<WeightSource> WeightSource::section() {
  using Self = WeightSource;
  return config::Section<Self>(
             "A tensor of the file and how it is rearranged: first a part of it, then its axes' order.")
      .key("name", &Self::name, "Name of the tensor; its n-th `*` stands for what the variable's glob matched there.",
           config::required, config::non_empty)
      .key("parts", &Self::parts, "Number of equal parts that the tensor is split into.", config::at_least(1))
      .key("part", &Self::part, "Number of the part to take, from 0.", config::at_least(0))
      .key("axis", &Self::axis, "Axis of the tensor that is split; -1: the last.", config::between(-8, 7))
      .key("transpose", &Self::transpose,
           "For each axis of the result the axis that it was, from 0, as numpy's transpose: [1, 0] for a matrix that "
           "is stored as [outputs, inputs]; null: as they are.",
           config::at_least(0))
      .check("part",
             [](const Self& source) {
               return source.part < source.parts
                          ? std::string()
                          : fmt::format("expected a part below {}, the number of parts", source.parts);
             })
      .check("transpose",
             [](const Self& source) { return order_error(source.transpose.value_or(std::vector<std::int64_t>{})); });
}

config::Section<WeightsFile> WeightsFile::section() {
  return config::Section<WeightsFile>(
             "A file of weights whose tensors have names of their own, or that has those of a part of the model.")
      .key("file", &WeightsFile::file, "Path of the file.", config::required, config::aliases("path, filename"))
      .key("missing", &WeightsFile::missing,
           "How a variable is handled whose tensor the file does not have: `error`, or `initialize`, as a new head's, "
           "which keeps the value of its initializer.")
      .key(
          "names", &WeightsFile::names,
          "The file's tensors by globs of the model's variables, as `block_*/kernel: \"layers.*.weight\"`; `*` matches "
          "`/` too, and the n-th `*` of a tensor's name stands for what the n-th one of the glob matched. The first "
          "glob that matches counts; a variable that none matches has the tensor of its own name. Axes may be split or "
          "joined: [64, 128] fits [64, 4, 32]. null has variables keep the values of their initializers, as `head/*: "
          "null`. What else the file holds is left out.");
}

const std::string& file_of(const InitialWeights& weights) {
  if (const auto* path = std::get_if<config::Path>(&weights)) return path->text;
  return std::get<WeightsFile>(weights).file.text;
}

std::optional<WeightSource> source_of(const WeightsFile& weights, std::string_view variable) {
  for (const auto& [glob, weight] : weights.names.value.entries) {
    Matches matches;
    if (!match(glob, variable, matches)) continue;
    if (!weight) return std::nullopt;
    WeightSource source = as_source(*weight);
    source.name = filled(source.name, matches);
    return source;
  }
  return WeightSource{.name = std::string(variable), .transpose = {}};
}

void check_weight_names(const WeightsFile& weights, const std::vector<ModelVariable>& variables,
                        config::Errors& errors) {
  const auto& entries = weights.names.value.entries;
  std::vector<std::string> names;
  for (const ModelVariable& variable : variables) names.push_back(variable.spec.name);
  std::vector<bool> taken(names.size(), false);
  for (const auto& [glob, weight] : entries) {
    const auto add = [&](const std::string& what) { errors.add(weights.names.place, weights.names.path, what); };
    bool any = false, any_new = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      Matches matches;
      if (!match(glob, names[i], matches)) continue;
      any = true;
      any_new = any_new || !taken[i];
      taken[i] = true;
    }
    if (!any) {
      add(
          fmt::format("'{}' matches no variable of the model{}; `--dry-run` lists the layers, and each weights file of "
                      "a run the variables",
                      shortened(glob, 200), config::suggestion_or_known(glob, names)));
    } else if (!any_new) {
      add(fmt::format("earlier globs match every variable that '{}' matches; move it before them or remove it",
                      shortened(glob, 200)));
    }
    const std::string name = weight ? as_source(*weight).name : "";
    if (std::ranges::count(name, '*') > std::ranges::count(glob, '*')) {
      add(fmt::format("the tensor's name '{}' has more `*` than '{}'", shortened(name, 200), shortened(glob, 200)));
    }
  }
}

}  // namespace mirrortrain
