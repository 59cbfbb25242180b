#include "data/arrays/hdf5.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "base/apart.h"
#include "base/error.h"
#include "base/json.h"
#include "base/loaded_module.h"
#include "base/utf8.h"
#include "config/scalar.h"
#include "data/arrays/array_file.h"
#include "data/arrays/hdf5_dataset.h"
#include "data/arrays/hdf5_module.h"
#include "data/key_aliases.h"

namespace mirrortrain::data {
namespace {

struct Hdf5Module {
  LoadedModule module{"libmirrortrain_hdf5.so"};
  decltype(&mirrortrain_find_hdf5_dataset) find =
      module.find<decltype(mirrortrain_find_hdf5_dataset)>("mirrortrain_find_hdf5_dataset");
};

const Hdf5Module& hdf5_module(const std::string& file) {
  static const Hdf5Module loaded;
  if (loaded.module.error().empty()) return loaded;
  throw Error(fmt::format(
      "{}: this program cannot read HDF5, as its module {} cannot be loaded ({}); build it with libhdf5-dev "
      "and install the module beside the program, or save the data as .npz",
      file, loaded.module.file(), loaded.module.error()));
}

/// What the module finds of a dataset: JSON, and the bytes of its chunks' places.
struct Found {
  nlohmann::json about;
  std::vector<std::byte> chunks;
};

/// Looks in a process of its own: the library was not made for damaged files, which crash it.
Found find_dataset(const std::string& path, const std::string& dataset) {
  const Hdf5Module& library = hdf5_module(path);
  const std::uint64_t bytes = PlainFile(path).size();  // which refuses what is no regular file
  if (bytes == 0) throw Error(fmt::format("{}: expected an HDF5 file, found an empty file; get it again", path));
  const MemoryFile chunks("hdf5-chunks"), about("hdf5-about");
  constexpr std::uint64_t kMostToRead = std::uint64_t{1} << 30;  // the dataset itself is not read
  const std::string end = run_apart(std::min(bytes, kMostToRead), [&] {
    if (!library.find(path.c_str(), dataset.c_str(), chunks.descriptor(), about.descriptor())) {
      throw std::runtime_error("what was found could not be handed over");
    }
  });
  std::string text(about.size(), '\0');
  Found found{{}, std::vector<std::byte>(chunks.size())};
  if (!end.empty() || text.empty() || !about.read_at(0, text.data(), text.size()) ||
      !chunks.read_at(0, found.chunks.data(), found.chunks.size())) {
    if (end == "SIGXCPU" || end == "SIGKILL") {
      throw Error(
          fmt::format("{}: finding its datasets took the HDF5 library too long; write it with larger chunks, or "
                      "contiguous: h5repack -l CONTI",
                      path));
    }
    throw Error(fmt::format("{}: is damaged: the HDF5 library cannot read it (it ended by {}); get the file again",
                            path, end.empty() ? "itself" : end));
  }
  found.about = parse_json<nlohmann::json>(text);
  if (found.about.contains("error")) throw Error(found.about.at("error").get<std::string>());
  return found;
}

Element element_in(const nlohmann::json& about, const std::string& name) {
  const std::string kind = about.at("kind");
  if (!about.contains("bytes")) {
    throw Error(fmt::format("{}: expected numbers, found {}; save it as an array of numbers", name, kind));
  }
  Element element;
  element.kind = kind == "float"    ? Element::Kind::kFloat
                 : kind == "signed" ? Element::Kind::kSigned
                 : kind == "bool"   ? Element::Kind::kBool
                                    : Element::Kind::kUnsigned;
  element.bytes = about.at("bytes");
  element.big_endian = about.at("big_endian");
  return element;
}

Hdf5Dataset::Filter filter_in(const nlohmann::json& filter, const std::string& name) {
  switch (filter.at("id").get<int>()) {
    case 1: return Hdf5Dataset::Filter::kDeflate;
    case 2: return Hdf5Dataset::Filter::kShuffle;
    case 3: return Hdf5Dataset::Filter::kChecksum;
    default: break;
  }
  throw Error(
      fmt::format("{}: it is compressed by the filter '{}' (number {}), which cannot be read; save it with "
                  "compression=\"gzip\" or without any",
                  name, shortened(filter.at("name").get<std::string>()), filter.at("id").get<int>()));
}

void set_chunks(const nlohmann::json& about, const std::vector<std::byte>& places, Hdf5Dataset& dataset) {
  dataset.chunk = about.at("chunk").get<std::vector<std::int64_t>>();
  constexpr std::uint64_t kMostOfChunk = std::uint64_t{1} << 32;
  std::uint64_t bytes = dataset.element.bytes, count = 1;
  for (std::size_t axis = 0; axis < dataset.chunk.size(); ++axis) {
    const auto extent = static_cast<std::uint64_t>(dataset.chunk[axis]);
    if (extent == 0 || bytes > kMostOfChunk / extent) {
      throw Error(fmt::format("{}: its chunks are larger than HDF5's may be; get the file again", dataset.name));
    }
    bytes *= extent;
    count *= (static_cast<std::uint64_t>(dataset.shape[axis]) + extent - 1) / extent;
  }
  for (const auto& filter : about.at("filters")) dataset.filters.push_back(filter_in(filter, dataset.name));
  static_assert(sizeof(Hdf5Dataset::Chunk) == 16, "as the module writes them");
  dataset.chunks.resize(places.size() / sizeof(Hdf5Dataset::Chunk));
  if (dataset.chunks.size() != count)
    throw std::logic_error("chunks that were handed over are not as many as announced");
  if (count > 0) std::copy_n(places.data(), places.size(), reinterpret_cast<std::byte*>(dataset.chunks.data()));
}

/// `key`: the configuration's for the name, in messages.
std::shared_ptr<const Hdf5Dataset> dataset_in(const std::string& path, const std::string& name,
                                              const std::string& key) {
  const Found found = find_dataset(path, name);
  if (!found.about.contains("found")) {
    const auto names = found.about.at("datasets").get<std::vector<std::string>>();
    const std::string meant = config::suggestion(name, config::with_aliases(names, config::names_of_keys<Hdf5>()));
    throw Error(fmt::format("{}: there is no dataset '{}' in it, but [{}]{}", path, shortened(name),
                            shortened(fmt::format("{}", fmt::join(names, ", ")), 200),
                            meant.empty() ? fmt::format("; say in '{}' which one to take", key) : meant));
  }
  const nlohmann::json& about = found.about.at("found");
  Hdf5Dataset dataset{path, fmt::format("{}: {}", path, name), {}, {}};
  dataset.element = element_in(about, dataset.name);
  dataset.shape = Shape(about.at("shape").get<std::vector<std::int64_t>>());
  if (!dataset.shape.is_possible()) {
    throw Error(fmt::format("{}: {} has more elements than any memory can hold", dataset.name, dataset.shape.text()));
  }
  if (dataset.shape.rank() == 0) {
    throw Error(fmt::format("{}: expected one row per example, found a single number", dataset.name));
  }
  if (about.contains("chunk")) {
    set_chunks(about, found.chunks, dataset);
  } else if (about.contains("offset")) {
    dataset.offset = about.at("offset").get<std::uint64_t>();
  } else {
    dataset.bytes = found.chunks;
  }
  return std::make_shared<const Hdf5Dataset>(std::move(dataset));
}

Array open_datasets(const Hdf5& source, const std::string& name, const std::string& key) {
  return read_files(source.file, [&](const std::string& path) {
    const auto dataset = dataset_in(path, name, key);
    return open_array({path, dataset->name, [dataset] { return open_dataset(dataset); },
                       [dataset](Input&) {
                         return ArrayHeader{dataset->element, false, dataset->shape};
                       }});
  });
}

}  // namespace

const std::string& where(const Hdf5Labels& labels) {
  const auto* const dataset = std::get_if<LabelDataset>(&labels);
  return dataset != nullptr ? dataset->dataset : std::get<std::string>(labels);
}

config::Section<LabelDataset> LabelDataset::section() {
  return config::Section<LabelDataset>("A dataset of labels, of which some may be missing.")
      .key("dataset", &LabelDataset::dataset, "Name of the dataset.", config::required, config::non_empty)
      .key("missing", &LabelDataset::missing, kMissingNaN);
}

config::Section<Hdf5> Hdf5::section() {
  return config::Section<Hdf5>(
             "Datasets of numbers in an HDF5 file, contiguous or in chunks, as they are or compressed by gzip.")
      .key("file", &Hdf5::file, "Path of the file; or a glob or a list of files.", config::required, kFileAliases)
      .key("features", &Hdf5::features,
           "Name of the dataset with the features, one row per example, as `x` or `group/x`.",
           config::required_unless("inputs", {}), config::non_empty, kFeaturesAliases)
      .key("inputs", &Hdf5::inputs,
           "In place of `features`: the name of the dataset for each input of the model, as {INPUT: DATASET}.",
           config::non_empty, config::excludes("features"))
      .key("labels", &Hdf5::labels,
           "Name of the dataset with the labels, one row per example; or one for each output of the model, as "
           "{OUTPUT: DATASET}. Where labels may be missing, which NaN says, {dataset: DATASET, missing: ignore}.",
           config::required, config::non_empty, kLabelsAliases)
      .key("weights", &Hdf5::weights,
           meaning_of_weights("Name of the dataset with the examples' weights, one number for each", "such a value",
                              "DATASET"));
}

Examples open(const Hdf5& source) {
  return read_fields(source,
                     [&](const std::string& name, const std::string& key) { return open_datasets(source, name, key); });
}

std::vector<Features> open_features(const Hdf5& source) {
  return read_inputs(source,
                     [&](const std::string& name, const std::string& key) { return open_datasets(source, name, key); });
}

Examples read(const Hdf5& source) { return in_memory(open(source)); }

std::vector<std::string> hdf5_datasets(const std::string& file) {
  return find_dataset(file, "").about.at("datasets").get<std::vector<std::string>>();
}

}  // namespace mirrortrain::data
