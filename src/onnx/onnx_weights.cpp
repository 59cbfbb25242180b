#include "onnx/onnx_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/float16.h"
#include "base/utf8.h"
#include "onnx/third_party/onnx.pb.h"

namespace mirrortrain::onnx {
namespace {

namespace fs = std::filesystem;
using Proto = ::onnx::TensorProto;

/// A type of elements in files: as what it is stored, and how many bytes one has there.
struct FileType {
  int type;
  DType dtype;
  std::size_t bytes;
};
constexpr FileType kFileTypes[] = {{Proto::FLOAT, DType::kFloat32, 4},   {Proto::DOUBLE, DType::kFloat64, 8},
                                   {Proto::FLOAT16, DType::kFloat32, 2}, {Proto::BFLOAT16, DType::kBfloat16, 2},
                                   {Proto::INT32, DType::kInt32, 4},     {Proto::INT64, DType::kInt64, 8},
                                   {Proto::UINT8, DType::kUint8, 1},     {Proto::BOOL, DType::kUint8, 1}};

template <class To, class List>
std::vector<std::byte> bytes_of(const List& list) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(list.size()) * sizeof(To));
  std::size_t at = 0;
  for (const auto value : list) {
    const auto element = static_cast<To>(value);
    std::memcpy(&bytes[at], &element, sizeof element);
    at += sizeof element;
  }
  return bytes;
}

/// Elements that are not raw bytes, but a list of numbers of some type.
std::vector<std::byte> listed_bytes(const Proto& tensor) {
  switch (tensor.data_type()) {
    case Proto::FLOAT: return bytes_of<float>(tensor.float_data());
    case Proto::DOUBLE: return bytes_of<double>(tensor.double_data());
    case Proto::INT64: return bytes_of<std::int64_t>(tensor.int64_data());
    case Proto::INT32: return bytes_of<std::int32_t>(tensor.int32_data());
    case Proto::FLOAT16:
    case Proto::BFLOAT16: return bytes_of<std::uint16_t>(tensor.int32_data());
    default: return bytes_of<std::uint8_t>(tensor.int32_data());
  }
}

/// The initializers of one file.
class Initializers {
 public:
  Initializers(const fs::path& path, const ::onnx::GraphProto& graph) : path_(path), graph_(graph) {}

  StoredTensors read() {
    StoredTensors all;
    for (const Proto& tensor : graph_.initializer()) {
      const auto type = std::ranges::find(kFileTypes, tensor.data_type(), &FileType::type);
      if (type == std::end(kFileTypes)) continue;
      if (!all.emplace(tensor.name(), read(tensor, *type)).second) wrong(tensor, "is listed twice");
    }
    return all;
  }

 private:
  [[noreturn]] void wrong(const Proto& tensor, const std::string& how) const {
    throw Error(fmt::format("{}: the initializer '{}' {}; the file is damaged", path_.string(),
                            shortened(tensor.name(), 200), how));
  }

  StoredTensor read(const Proto& tensor, const FileType& type) {
    StoredTensor made{type.dtype, Shape(std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end())), {}};
    const bool is_negative = std::ranges::any_of(made.shape, [](std::int64_t extent) { return extent < 0; });
    if (is_negative || !made.shape.is_possible()) wrong(tensor, "has an impossible shape, " + made.shape.text());
    const std::size_t wanted = static_cast<std::size_t>(made.shape.elements()) * type.bytes;
    if (tensor.data_location() == Proto::EXTERNAL) {
      made.data = external_bytes(tensor, wanted);
    } else if (tensor.has_raw_data()) {
      const auto raw = std::as_bytes(std::span(tensor.raw_data()));
      made.data.assign(raw.begin(), raw.end());
    } else {
      made.data = listed_bytes(tensor);
    }
    if (made.data.size() != wanted) {
      wrong(tensor,
            fmt::format("has the shape {}, so {} bytes, found {}", made.shape.text(), wanted, made.data.size()));
    }
    if (type.type == Proto::FLOAT16) made.data = floats_of_halves(made.data);
    return made;
  }

  std::uint64_t number(const Proto& tensor, const std::string& key, std::uint64_t otherwise) const {
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() != key) continue;
      const std::string& text = entry.value();
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) wrong(tensor, "has a wrong " + key);
      return value;
    }
    return otherwise;
  }

  /// Bytes of a file in the folder of this one.
  std::vector<std::byte> external_bytes(const Proto& tensor, std::size_t wanted) {
    std::string name;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") name = entry.value();
    }
    if (name.empty() || name.find('/') != name.npos || name == ".." || name == ".") {
      wrong(tensor, fmt::format("is in another file, '{}', which is not one beside it", shortened(name, 200)));
    }
    const auto [found, is_new] = external_.try_emplace(name);
    std::vector<std::byte>& bytes = found->second;
    if (is_new) bytes = read_file(path_.parent_path() / name);
    const std::uint64_t offset = number(tensor, "offset", 0), length = number(tensor, "length", wanted);
    if (offset > bytes.size() || length > bytes.size() - offset) {
      wrong(tensor, fmt::format("is beyond the end of {}", name));
    }
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
    return {first, first + static_cast<std::ptrdiff_t>(length)};
  }

  const fs::path& path_;
  const ::onnx::GraphProto& graph_;
  std::map<std::string, std::vector<std::byte>> external_;  ///< files beside this one, by name
};

}  // namespace

StoredTensors read_onnx_weights(const fs::path& path) {
  ::onnx::ModelProto model;
  {
    const std::vector<std::byte> file = read_file(path);
    const bool is_possible = file.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
    if (!is_possible || !model.ParseFromArray(file.data(), static_cast<int>(file.size())) || !model.has_graph()) {
      throw Error(
          fmt::format("{}: expected an ONNX file, found something else, or one that is damaged", path.string()));
    }
  }
  return Initializers(path, model.graph()).read();
}

}  // namespace mirrortrain::onnx
