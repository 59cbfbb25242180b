#include "data/arrays/npz.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "config/scalar.h"
#include "data/arrays/npy.h"
#include "data/files/zip.h"

namespace mirrortrain::data {
namespace {

constexpr std::string_view kSuffix = ".npy";

std::vector<std::string> array_names(const Zip& zip) {
  std::vector<std::string> names;
  for (const std::string& name : zip.names()) {
    if (name.ends_with(kSuffix)) names.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  return names;
}

/// The remedy if there is no array `name`. `key`: the configuration key for its name; empty: new examples have none.
std::string remedy_of(std::string_view key, const std::string& name, const std::vector<std::string>& names) {
  if (key.empty()) {
    return fmt::format("; new examples are taken from that name: save them as numpy.savez(FILE, {}=...)", name);
  }
  const std::string meant = config::suggestion(name, names);
  return meant.empty() ? fmt::format("; say in '{}' which one to take", key) : meant;
}

Array read_array(const Zip& zip, const std::string& file, const std::string& name, std::string_view key) {
  const std::vector<std::string> names = array_names(zip);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw Error(fmt::format("{}: there is no array '{}' in it, but [{}]{}", file, shortened(name),
                            shortened(fmt::format("{}", fmt::join(names, ", ")), 200), remedy_of(key, name, names)));
  }
  const auto input = zip.open(name + std::string(kSuffix), fmt::format("{}: {}", file, name));
  return read_npy(*input);
}

Array read_arrays(const Npz& source, const std::string& name, std::string_view key) {
  return read_files(source.file, [&](const std::string& file) { return read_array(Zip(file), file, name, key); });
}

}  // namespace

config::Section<Npz> Npz::section() {
  return config::Section<Npz>("A NumPy archive of arrays, as numpy.savez and numpy.savez_compressed write it.")
      .key("file", &Npz::file, "Path of the archive; or a glob or a list of archives.", config::required)
      .key("features", &Npz::features, "Name of the array with the features, one row per example.", config::non_empty)
      .key("labels", &Npz::labels, "Name of the array with the labels, one row per example.", config::non_empty);
}

Array read_features(const Npz& source) { return read_arrays(source, source.features, ""); }

Examples read(const Npz& source) {
  Array features = read_arrays(source, source.features, "features");
  return {std::move(features), read_arrays(source, source.labels, "labels")};
}

}  // namespace mirrortrain::data
