#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>

#include "base/apart.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "keras/hdf5/hdf5.h"
#include "keras/hdf5/hdf5_library.h"
#include "keras/json.h"

namespace mirrortrain::keras {
namespace {

/// What the process that read a file handed over.
Hdf5Contents taken_over(const Json& found, const MemoryFile& data) {
  Hdf5Contents contents;
  for (const auto& [path, about] : found.at("datasets").items()) {
    StoredTensor& tensor = contents.datasets[path];
    tensor.dtype = static_cast<DType>(about.at("type").get<int>());
    tensor.shape = Shape(about.at("shape").get<std::vector<std::int64_t>>());
    tensor.data.resize(static_cast<std::size_t>(tensor.shape.elements()) * size_of(tensor.dtype));
    if (!data.read_at(about.at("offset").get<std::uint64_t>(), tensor.data.data(), tensor.data.size())) {
      throw std::logic_error("a dataset that was handed over is shorter than announced");
    }
  }
  contents.texts = found.at("texts").get<decltype(contents.texts)>();
  return contents;
}

/// Reads in a process of its own: the library was not made for damaged files, which crash it.
Hdf5Contents read_apart(const std::string& name, const void* image, std::uint64_t bytes) {
  const Hdf5Library& library = hdf5_library(name);
  const MemoryFile data("hdf5-data"), about("hdf5-about");
  const std::string end = run_apart(bytes, [&] {
    if (!library.read(name.c_str(), image, bytes, data.descriptor(), about.descriptor())) {
      throw std::runtime_error("what was read could not be handed over");
    }
  });
  std::string text(about.size(), '\0');
  if (!end.empty() || text.empty() || !about.read_at(0, text.data(), text.size())) {
    throw Error(fmt::format("{}: is damaged: the HDF5 library cannot read it (it ended by {}); get the file again",
                            name, end.empty() ? "itself" : end));
  }
  const Json found = mirrortrain::parse_json<Json>(text);
  if (found.contains("error")) throw Error(found.at("error").get<std::string>());
  return taken_over(found, data);
}

}  // namespace

Hdf5Contents read_hdf5(const std::filesystem::path& file) {
  const std::uint64_t bytes = InputFile(file).size();  // which refuses what is no regular file
  return read_apart(file.string(), nullptr, bytes);
}

Hdf5Contents read_hdf5(std::span<const std::byte> bytes, const std::string& name) {
  static constexpr std::byte kNone{};
  return read_apart(name, bytes.empty() ? &kNone : bytes.data(), bytes.size());
}

}  // namespace mirrortrain::keras
