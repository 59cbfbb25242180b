#include "data/arrays/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/key_aliases.h"

namespace mirrortrain::data {
namespace {

constexpr std::size_t kLongestHeader = std::size_t{1} << 20;

NpyHeader read_any_header(Input& input) {
  std::array<char, 8> start{};
  input.read_all(std::as_writable_bytes(std::span(start)), "the header");
  if (std::string_view(start.data(), 6) != "\x93NUMPY") {
    throw Error(fmt::format("{}: expected an array saved by numpy.save, which begins with \\x93NUMPY{}", input.name(),
                            input.name_note()));
  }
  const int version = start[6];
  if (version < 1 || version > 3) {
    throw Error(fmt::format("{}: expected npy version 1 to 3, found {}", input.name(), version));
  }
  std::array<std::byte, 4> length_bytes{};
  input.read_all(std::span(length_bytes).first(version == 1 ? 2 : 4), "the header");
  std::size_t length = 0;
  for (std::size_t i = 4; i-- > 0;) length = length << 8 | std::to_integer<std::size_t>(length_bytes[i]);
  if (length > kLongestHeader) {
    throw Error(
        fmt::format("{}: the npy header claims {} bytes; the file is damaged, save it again", input.name(), length));
  }
  std::string text(length, '\0');
  input.read_all(std::as_writable_bytes(std::span(text)), "the header");
  return parse_npy_header(text, input.name());
}

}  // namespace

Files where(const NpyLabels& labels) {
  if (const auto* const files = std::get_if<LabelFiles>(&labels)) return files->file;
  if (const auto* const path = std::get_if<config::Path>(&labels)) return *path;
  return std::get<std::vector<config::Path>>(labels);
}

config::Section<LabelFiles> LabelFiles::section() {
  return config::Section<LabelFiles>("Files of labels, of which some may be missing.")
      .key("file", &LabelFiles::file, "Path of the file; or a glob or a list of files.", config::required, kFileAliases)
      .key("missing", &LabelFiles::missing, kMissingNaN);
}

config::Section<Npy> Npy::section() {
  return config::Section<Npy>("NumPy files of one array each, as numpy.save writes them.")
      .key("features", &Npy::features,
           "Path of the file with the features, one row per example; or a glob or a list of files.",
           config::required_unless("inputs", {}), kFeaturesAliases)
      .key("inputs", &Npy::inputs,
           "In place of `features`: the file, glob or list of files for each input of the model, as {INPUT: FILE}.",
           config::excludes("features"))
      .key("labels", &Npy::labels,
           "Path of the file with the labels, one row per example; or a glob or a list of files; or such a value for "
           "each output of the model, as {OUTPUT: FILE}. Where labels may be missing, which NaN says, {file: FILE, "
           "missing: ignore}.",
           config::required, kLabelsAliases)
      .key("weights", &Npy::weights,
           meaning_of_weights(
               "Path of the file with the examples' weights, one number for each, or a glob or a list of files",
               "such a value", "FILE"));
}

NpyHeader read_npy_header(Input& input) {
  NpyHeader header = read_any_header(input);
  if (header.shape.rank() == 0) {
    throw Error(fmt::format("{}: expected one row per example, found a single number", input.name()));
  }
  return header;
}

Array read_npy(Input& input) { return read_array(input, read_npy_header(input)); }

namespace {

Array open_arrays(const Files& files, const std::string&) {
  return read_files(files, [](const std::string& path) {
    return open_array({path, path, [path] { return open_input(path); }, read_npy_header});
  });
}

Array read_arrays(const Files& files, const std::string& key) {
  Array array = open_arrays(files, key);
  load_rows(array);
  return array;
}

}  // namespace

std::vector<Features> read_features(const Npy& source) { return read_inputs(source, read_arrays); }

Examples read(const Npy& source) { return read_fields(source, read_arrays); }

std::vector<Features> open_features(const Npy& source) { return read_inputs(source, open_arrays); }

Examples open(const Npy& source) { return read_fields(source, open_arrays); }

}  // namespace mirrortrain::data
