#include "data/npz.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "config/scalar.h"
#include "data/npy.h"
#include "data/zip.h"

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

/// `remedy`: where the array does not exist.
Array read_array(const Zip& zip, const std::string& file, const std::string& name, const std::string& remedy) {
  const std::vector<std::string> names = array_names(zip);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw Error(fmt::format("{}: there is no array '{}' in it, but [{}]{}; {}", file, shortened(name),
                            shortened(fmt::format("{}", fmt::join(names, ", ")), 200), config::suggestion(name, names),
                            remedy));
  }
  const auto input = zip.open(name + std::string(kSuffix), fmt::format("{}: {}", file, name));
  return read_npy(*input);
}

}  // namespace

config::Section<Npz> Npz::section() {
  return config::Section<Npz>("A NumPy archive of arrays, as numpy.savez and numpy.savez_compressed write it.")
      .key("file", &Npz::file, "Path of the archive; or a glob or a list of archives.", config::required)
      .key("features", &Npz::features, "Name of the array with the features, one row per example.", config::non_empty)
      .key("labels", &Npz::labels, "Name of the array with the labels, one row per example.", config::non_empty);
}

namespace {

Array read_arrays(const Npz& source, const std::string& name, const std::string& remedy) {
  return read_files(source.file, [&](const std::string& file) { return read_array(Zip(file), file, name, remedy); });
}

std::string remedy_of(std::string_view key) { return fmt::format("say in '{}' which one to take", key); }

}  // namespace

Array read_features(const Npz& source) {
  return read_arrays(
      source, source.features,
      fmt::format("new examples are taken from that name: save them as numpy.savez(FILE, {}=...)", source.features));
}

Examples read(const Npz& source) {
  Array features = read_arrays(source, source.features, remedy_of("features"));
  return {std::move(features), read_arrays(source, source.labels, remedy_of("labels"))};
}

}  // namespace mirrortrain::data
