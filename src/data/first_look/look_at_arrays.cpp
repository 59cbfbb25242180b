#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "data/files/zip.h"
#include "data/first_look/parts.h"
#include "data/loading/load.h"

namespace mirrortrain::data {
namespace {

/// Common names of the arrays of features and labels.
constexpr auto kArrayNames = std::to_array<std::pair<const char*, const char*>>({{"x", "y"},
                                                                                 {"X", "y"},
                                                                                 {"X", "Y"},
                                                                                 {"x_train", "y_train"},
                                                                                 {"X_train", "y_train"},
                                                                                 {"X_train", "Y_train"},
                                                                                 {"train_x", "train_y"},
                                                                                 {"train_X", "train_y"},
                                                                                 {"train_images", "train_labels"},
                                                                                 {"train_data", "train_labels"},
                                                                                 {"train_features", "train_labels"},
                                                                                 {"images", "labels"},
                                                                                 {"data", "target"},
                                                                                 {"data", "targets"},
                                                                                 {"data", "labels"},
                                                                                 {"data", "label"},
                                                                                 {"features", "labels"},
                                                                                 {"features", "targets"},
                                                                                 {"inputs", "targets"},
                                                                                 {"inputs", "labels"},
                                                                                 {"inputs", "outputs"},
                                                                                 {"arr_0", "arr_1"}});

std::vector<std::string> names_in_archive(const std::string& path) {
  std::vector<std::string> names = Zip(path).names();
  for (std::string& name : names) {
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
  }
  return names;
}

/// Arrays of these names in a file.
template <class Format>
Format arrays_of(const std::string& path, const std::string& features, const std::string& labels) {
  Format source;
  source.file = Files(config::Path{path});
  source.features = features;
  source.labels.one = labels;
  return source;
}

using ArrayPair = std::pair<std::string, std::string>;

/// The first pair of common names, also in a group: "train/x", "train/y".
std::optional<ArrayPair> find_pair(const std::vector<std::string>& names) {
  for (const auto& [features, labels] : kArrayNames) {
    for (const std::string& name : names) {
      const std::string group = name.substr(0, name.rfind('/') == name.npos ? 0 : name.rfind('/') + 1);
      if (name != group + features || std::ranges::count(names, group + labels) == 0) continue;
      const bool is_of_others = group.find("test") != group.npos || group.find("val") != group.npos;
      if (!is_of_others) return ArrayPair{name, group + labels};
    }
  }
  return std::nullopt;
}

template <class Format>
DataLook look_at_named(const FirstLook& at, const std::vector<std::string>& names) {
  const std::string& path = at.path;
  const auto has = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  const auto text = [&](const std::string& x, const std::string& y) {
    return fmt::format("{{format: {}, file: {}, features: {}, labels: {}}}", Format::kName, at.name(path), yaml_text(x),
                       yaml_text(y));
  };
  const std::optional<ArrayPair> pair = find_pair(names);
  if (!pair) {
    throw UsageError(
        fmt::format("{}: its arrays are {}; expected names such as x and y, x_train and y_train or features and "
                    "labels: save them so, "
                    "or write a configuration by hand, with {}",
                    path, fmt::join(names, ", "), text("NAME", "NAME")));
  }
  DataLook look;
  look.train = text(pair->first, pair->second);
  DataOptions options;
  options.train.value = arrays_of<Format>(path, pair->first, pair->second);
  describe(options, look);
  /// The pair whose names have another split's instead of "train"; "" if there is none.
  const auto split = [&](std::initializer_list<const char*> split_names) -> std::string {
    for (const char* const name : split_names) {
      std::string x = pair->first, y = pair->second;
      const std::size_t in_x = x.find("train"), in_y = y.find("train");
      if (in_x == x.npos || in_y == y.npos) return "";
      x.replace(in_x, 5, name);
      y.replace(in_y, 5, name);
      if (!has(x) || !has(y)) continue;
      try {
        options.train.value = arrays_of<Format>(path, x, y);
        load(options, 0, nullptr);
        return text(x, y);
      } catch (const Error&) {  // they are not such a pair
      }
    }
    return "";
  };
  look.validation = split({"val", "valid", "validation"});
  look.test = split({"test"});
  return look;
}

}  // namespace

DataLook look_at_arrays(const FirstLook& at) {
  const std::string first = at.first();
  if (in_lower_case(first).ends_with(".npz")) return look_at_named<Npz>(at, names_in_archive(first));
  return look_at_named<Hdf5>(at, hdf5_datasets(first));
}

namespace {

/// The path of the labels beside a file of features, by common names: "a/x_train.npy" has "a/y_train.npy"; "" if there
/// is none.
std::string labels_beside(const std::filesystem::path& features) {
  const std::string stem = features.stem().string();
  for (const auto& [of_features, of_labels] : kArrayNames) {
    const std::string_view name = of_features;
    if (!stem.ends_with(name)) continue;
    const std::string before = stem.substr(0, stem.size() - name.size());
    if (!before.empty() && std::string_view("-_.").find(before.back()) == std::string_view::npos) continue;
    const std::filesystem::path labels = features.parent_path() / (before + of_labels + ".npy");
    if (std::filesystem::exists(labels)) return labels.string();
  }
  // "x-train.npy", "images_val.npy"
  for (const auto& [of_features, of_labels] : kArrayNames) {
    const std::string_view name = of_features;
    if (!stem.starts_with(name) || stem.size() == name.size()) continue;
    if (std::string_view("-_.").find(stem[name.size()]) == std::string_view::npos) continue;
    const std::filesystem::path labels = features.parent_path() / (of_labels + stem.substr(name.size()) + ".npy");
    if (std::filesystem::exists(labels)) return labels.string();
  }
  return "";
}

}  // namespace

DataLook look_at_npy(const FirstLook& at) {
  const std::filesystem::path features = at.path;
  const std::string labels = labels_beside(features);
  const auto text = [&](const std::string& x, const std::string& y) {
    return fmt::format("{{format: npy, features: {}, labels: {}}}", at.name(x), at.name(y));
  };
  if (labels.empty()) {
    throw UsageError(
        fmt::format("{}: expected the labels beside it, as y.npy beside x.npy, y_train.npy beside x_train.npy or "
                    "labels.npy beside features.npy; name them so, or write a configuration by hand, with {{format: "
                    "npy, features: FILE, labels: FILE}}",
                    at.path));
  }
  DataLook look;
  look.train = text(at.path, labels);
  Npy source;
  source.features = Files(config::Path{at.path});
  source.labels.one = config::Path{labels};
  DataOptions options;
  options.train.value = source;
  describe(options, look);
  const auto split = [&](std::initializer_list<const char*> names) -> std::string {
    std::string name = features.filename().string();
    const std::size_t at_train = name.find("train");
    if (at_train == std::string::npos) return "";
    for (const char* const other : names) {
      std::string replaced = name;
      replaced.replace(at_train, 5, other);
      const std::filesystem::path x = features.parent_path() / replaced;
      const std::string y = std::filesystem::exists(x) ? labels_beside(x) : "";
      if (!y.empty()) return text(x.string(), y);
    }
    return "";
  };
  look.validation = split({"val", "valid", "validation"});
  look.test = split({"test"});
  return look;
}

bool is_hdf5_of_data(const std::string& path) { return find_pair(hdf5_datasets(path)).has_value(); }

}  // namespace mirrortrain::data
