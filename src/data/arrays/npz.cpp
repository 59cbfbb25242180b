#include "data/arrays/npz.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "config/scalar.h"
#include "data/arrays/npy.h"
#include "data/files/zip.h"
#include "data/files/zip_place.h"
#include "data/key_aliases.h"

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
  const std::string meant = config::suggestion(name, config::with_aliases(names, config::names_of_keys<Npz>()));
  return meant.empty() ? fmt::format("; say in '{}' which one to take", key) : meant;
}

/// A file in an archive of its own.
class MemberInput : public Input {
 public:
  MemberInput(const std::string& archive, const std::string& member, const std::string& label)
      : Input(label), zip_(archive), input_(zip_.open(member, label)), offset_(place_in_zip(archive, member)) {}

  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = input_->read(to);
    if (offset_) *offset_ += count;
    return count;
  }
  std::optional<std::uint64_t> offset() const override { return offset_; }
  bool has_checksum() const override { return true; }
  std::uint64_t most_bytes() const override { return input_->most_bytes(); }

 private:
  Zip zip_;
  std::unique_ptr<Input> input_;
  std::optional<std::uint64_t> offset_;
};

Array open_member(const std::string& file, const std::string& name, std::string_view key) {
  const Zip zip(file);
  const std::vector<std::string> names = array_names(zip);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw Error(fmt::format("{}: there is no array '{}' in it, but [{}]{}", file, shortened(name),
                            shortened(fmt::format("{}", fmt::join(names, ", ")), 200), remedy_of(key, name, names)));
  }
  const std::string member = name + std::string(kSuffix), label = fmt::format("{}: {}", file, name);
  return open_array({file, label, [=] { return std::make_unique<MemberInput>(file, member, label); }, read_npy_header});
}

Array open_arrays(const Npz& source, const std::string& name, std::string_view key) {
  return read_files(source.file, [&](const std::string& file) { return open_member(file, name, key); });
}

Array read_arrays(const Npz& source, const std::string& name, std::string_view key) {
  Array array = open_arrays(source, name, key);
  load_rows(array);
  return array;
}

}  // namespace

const std::string& where(const NpzLabels& labels) {
  const auto* const array = std::get_if<LabelArray>(&labels);
  return array != nullptr ? array->array : std::get<std::string>(labels);
}

config::Section<LabelArray> LabelArray::section() {
  return config::Section<LabelArray>("An array of labels, of which some may be missing.")
      .key("array", &LabelArray::array, "Name of the array.", config::required, config::non_empty)
      .key("missing", &LabelArray::missing, kMissingNaN);
}

config::Section<Npz> Npz::section() {
  return config::Section<Npz>("A NumPy archive of arrays, as numpy.savez and numpy.savez_compressed write it.")
      .key("file", &Npz::file, "Path of the archive; or a glob or a list of archives.", config::required, kFileAliases)
      .key("prefix", &Npz::prefix,
           "Prefix of the arrays' names, in an archive of all splits: `train` stands for train_images "
           "and train_labels, or for train_NAME of every array that is named below; null: names are as they are "
           "written.",
           config::non_empty)
      .key("features", &Npz::features,
           "Name of the array with the features, one row per example; null: x, or images with a `prefix`.",
           config::non_empty, kFeaturesAliases)
      .key("inputs", &Npz::inputs,
           "In place of `features`: the name of the array for each input of the model, as {INPUT: ARRAY}.",
           config::non_empty, config::excludes("features"))
      .key("labels", &Npz::labels,
           "Name of the array with the labels, one row per example; or one for each output of the model, as "
           "{OUTPUT: ARRAY}. Where labels may be missing, which NaN says, {array: ARRAY, missing: ignore}.",
           config::non_empty, kLabelsAliases,
           config::advice("a list", "name one for each output of the model, as {rating: r, clicked: k}"))
      .key("weights", &Npz::weights,
           meaning_of_weights("Name of the array with the examples' weights, one number for each", "such a value",
                              "ARRAY"));
}

Npz::Npz() { labels.one = "y"; }

namespace {

/// With the array that is taken where none is named.
FieldsByName<std::string, NpzLabels> fields_of(const Npz& source) {
  FieldsByName<std::string, NpzLabels> fields = source;
  if (fields.inputs.empty() && !fields.features) fields.features = source.prefix ? "images" : "x";
  if (!source.prefix) return fields;
  const auto begin = [&](std::string& name) { name = *source.prefix + "_" + name; };
  const auto begin_labels = [&](NpzLabels& labels) {
    auto* const array = std::get_if<LabelArray>(&labels);
    begin(array != nullptr ? array->array : std::get<std::string>(labels));
  };
  if (fields.labels.one && *fields.labels.one == *Npz().labels.one) fields.labels.one = "labels";
  if (fields.features) begin(*fields.features);
  for (auto& [input, array] : fields.inputs.entries) begin(array);
  if (fields.labels.one) begin_labels(*fields.labels.one);
  for (auto& [output, labels] : fields.labels.named.entries) begin_labels(labels);
  if (fields.weights && fields.weights->one) begin(fields.weights->one->value);
  if (fields.weights) {
    for (auto& [output, weights] : fields.weights->named.entries) begin(weights.value);
  }
  return fields;
}

}  // namespace

namespace {

/// The names of the arrays that each of a source's archives has.
class ArrayNames {
 public:
  explicit ArrayNames(const Npz& source) {
    std::vector<std::string> remarks;
    for (const std::string& file : expanded(source.file, remarks)) names_.push_back(array_names(Zip(file)));
  }
  bool has(const std::string& name) const {
    return std::ranges::all_of(names_, [&](const auto& all) { return std::ranges::count(all, name) > 0; });
  }

 private:
  std::vector<std::vector<std::string>> names_;  ///< by archive
};

}  // namespace

namespace {

/// New arrays may have the names that the training data's have, or those of the inputs and outputs that they are for.
FieldsByName<std::string, NpzLabels> new_fields_of(const Npz& source) {
  FieldsByName<std::string, NpzLabels> fields = fields_of(source);
  const ArrayNames names(source);
  for (auto& [input, array] : fields.inputs.entries) {
    if (!names.has(array) && names.has(input)) array = input;
  }
  if (source.prefix && fields.features && !names.has(*fields.features)) {
    fields.features = source.features.value_or(names.has("images") ? "images" : "x");
  }
  return fields;
}

}  // namespace

std::vector<Features> read_features(const Npz& source) {
  return read_inputs(new_fields_of(source),
                     [&](const std::string& name, const std::string&) { return read_arrays(source, name, ""); });
}

std::vector<Features> open_features(const Npz& source) {
  return read_inputs(new_fields_of(source),
                     [&](const std::string& name, const std::string&) { return open_arrays(source, name, ""); });
}

std::vector<Labels> read_labels(const Npz& source) {
  const ArrayNames names(source);
  FieldsByName<std::string, NpzLabels> present = fields_of(source);
  present.weights.reset();
  for (auto& named : present.labels.named.entries) {
    const std::string& output = named.first;
    NpzLabels& labels = named.second;
    if (names.has(where(labels)) || !names.has(output)) continue;
    std::visit(
        [&](auto& held) {
          if constexpr (requires { held.array; })
            held.array = output;
          else
            held = output;
        },
        labels);
  }
  const auto is_absent = [&](const NpzLabels& labels) { return !names.has(where(labels)); };
  if (present.labels.one && is_absent(*present.labels.one)) present.labels.one.reset();
  std::erase_if(present.labels.named.entries, [&](const auto& entry) { return is_absent(entry.second); });
  return read_outputs(present,
                      [&](const std::string& name, const std::string& key) { return read_arrays(source, name, key); });
}

Examples read(const Npz& source) {
  return read_fields(fields_of(source),
                     [&](const std::string& name, const std::string& key) { return read_arrays(source, name, key); });
}

Examples open(const Npz& source) {
  return read_fields(fields_of(source),
                     [&](const std::string& name, const std::string& key) { return open_arrays(source, name, key); });
}

}  // namespace mirrortrain::data
