#include "base/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/float16.h"
#include "base/utf8.h"

namespace mirrortrain {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::uint64_t kLongestHeader = 16 << 20;  // some 100,000 tensors

struct ElementType {
  std::string_view tag;
  DType dtype;        ///< of the elements in memory
  std::size_t bytes;  ///< of one element in the file
};
constexpr std::string_view kHalf = "F16";
/// The first entry of a dtype is the one that is written.
constexpr auto kElementTypes = std::to_array<ElementType>({{"F32", DType::kFloat32, 4},
                                                           {"F64", DType::kFloat64, 8},
                                                           {"I32", DType::kInt32, 4},
                                                           {"I64", DType::kInt64, 8},
                                                           {"BF16", DType::kBfloat16, 2},
                                                           {"U8", DType::kUint8, 1},
                                                           {"BOOL", DType::kUint8, 1},
                                                           {kHalf, DType::kFloat32, 2}});

std::string_view tag_of(DType dtype) { return std::ranges::find(kElementTypes, dtype, &ElementType::dtype)->tag; }

/// Bytes of a tensor; nullopt where they do not fit in 64 bits or an extent is negative.
std::optional<std::uint64_t> bytes_of(std::size_t element_bytes, const Shape& shape) {
  std::uint64_t bytes = element_bytes;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return std::nullopt;
  }
  return bytes;
}

/// A name from a file, shortened and quoted for a message.
std::string shown(const std::string& name) { return fmt::format("\"{}\"", shortened(name, 200)); }

struct Entry {
  std::string name;
  const ElementType* type;
  Shape shape;
  std::uint64_t begin, end;  ///< bytes after the header
};

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), file_(path) {}

  StoredTensors read() {
    const std::uint64_t size = file_.size();
    const std::string header = read_header(size);
    std::vector<Entry> entries = parse(header);
    check_layout(entries, size - 8 - header.size());
    StoredTensors tensors;
    for (Entry& entry : entries) {  // in the order of the file
      StoredTensor tensor{entry.type->dtype, std::move(entry.shape), std::vector<std::byte>(entry.end - entry.begin)};
      read_bytes(tensor.data.data(), tensor.data.size());
      if (entry.type->tag == kHalf) tensor.data = widened(tensor.data);
      tensors.emplace(std::move(entry.name), std::move(tensor));
    }
    return tensors;
  }

  /// The tensors fill the file, so this covers all of it.
  std::uint32_t crc32() const { return file_.crc32(); }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(
        fmt::format("{}: {}; it is damaged or not a safetensors file, which other programs "
                    "have to save their weights as",
                    path_.string(), what));
  }

  [[noreturn]] void fail(const std::string& name, std::string_view what) const {
    throw Error(fmt::format("{}: tensor {}: {}", path_.string(), shown(name), what));
  }

  static std::vector<std::byte> widened(std::span<const std::byte> halves) {
    std::vector<std::byte> floats(2 * halves.size());
    for (std::size_t at = 0; at < halves.size(); at += 2) {
      std::uint16_t half = 0;
      std::memcpy(&half, &halves[at], sizeof half);
      const float value = float_from_half(half);
      std::memcpy(&floats[2 * at], &value, sizeof value);
    }
    return floats;
  }

  void read_bytes(void* to, std::size_t bytes) {
    if (file_.read({static_cast<std::byte*>(to), bytes}) != bytes) fail("reading stopped before its end");
  }

  std::string read_header(std::uint64_t file_size) {
    if (file_size < 8) fail(fmt::format("it has {} bytes, less than the 8 of a header's length", file_size));
    std::uint64_t length = 0;
    read_bytes(&length, sizeof length);
    if (length > file_size - 8) {
      fail(fmt::format("the header says {} bytes long, but {} follow", length, file_size - 8));
    }
    if (length > kLongestHeader)
      fail(fmt::format("the header is {} bytes long, the most is {}", length, kLongestHeader));
    std::string header(length, '\0');
    read_bytes(header.data(), header.size());
    return header;
  }

  std::vector<Entry> parse(const std::string& header) const {
    // The parser keeps the last of two equal keys, so duplicates are found while parsing. Objects nest two deep in a
    // valid header.
    std::vector<std::set<std::string>> keys;
    const auto watch = [&](int depth, json::parse_event_t event, const json& value) {
      if (depth > 4) fail("the header nests too deep");
      if (event == json::parse_event_t::object_start) keys.emplace_back();
      if (event == json::parse_event_t::object_end) keys.pop_back();
      if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
        fail(fmt::format("{} is listed twice in the header", shown(value.get<std::string>())));
      }
      return true;
    };
    json parsed;
    try {
      parsed = json::parse(header, watch);
    } catch (const json::exception&) {
      fail("the header is not JSON");
    }
    if (!parsed.is_object()) fail("the header is not a JSON object");
    std::vector<Entry> entries;
    for (const auto& [name, value] : parsed.items()) {
      if (name != "__metadata__") entries.push_back(entry_of(name, value));
    }
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    return entries;
  }

  Entry entry_of(const std::string& name, const json& value) const {
    const auto member = [&](const char* key) -> const json& {
      if (!value.is_object() || !value.contains(key)) fail(name, fmt::format("the header gives no {}", key));
      return value.at(key);
    };
    const auto numbers = [&](const char* key) {
      std::vector<std::int64_t> list;
      const json& array = member(key);
      if (!array.is_array()) fail(name, fmt::format("{} is not a list", key));
      for (const json& number : array) {
        if (!number.is_number_unsigned() || number.get<std::uint64_t>() > INT64_MAX) {
          fail(name, fmt::format("{} holds something else than whole numbers from 0", key));
        }
        list.push_back(number.get<std::int64_t>());
      }
      return list;
    };
    const json& tag = member("dtype");
    const auto* const type =
        std::ranges::find_if(kElementTypes, [&](const ElementType& known) { return tag == known.tag; });
    if (type == kElementTypes.end()) {
      fail(name, fmt::format("has elements of type {}; convert weights to F32",
                             tag.is_string() ? shown(tag.get<std::string>()) : "that is no text"));
    }
    Shape shape(numbers("shape"));
    const std::vector<std::int64_t> offsets = numbers("data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) fail(name, "data_offsets are not [begin, end]");
    const auto begin = static_cast<std::uint64_t>(offsets[0]), end = static_cast<std::uint64_t>(offsets[1]);
    if (bytes_of(type->bytes, shape) != end - begin) {
      fail(name, fmt::format("{} bytes do not hold {} of type {}", end - begin, shape.text(), type->tag));
    }
    return {name, type, std::move(shape), begin, end};
  }

  /// The tensors, sorted by place, fill what follows the header: no gap, no overlap, nothing after them.
  void check_layout(const std::vector<Entry>& entries, std::uint64_t available) const {
    std::uint64_t expected = 0;
    for (const Entry& entry : entries) {
      if (entry.end > available) {
        fail(entry.name,
             fmt::format("ends at byte {}, but {} bytes follow the header; the file is cut short or damaged", entry.end,
                         available));
      }
      if (entry.begin != expected) {
        fail(entry.name, fmt::format("begins at byte {} where {} was expected; tensors overlap or leave gaps",
                                     entry.begin, expected));
      }
      expected = entry.end;
    }
    if (expected != available) fail(fmt::format("{} bytes follow the last tensor", available - expected));
  }

  const std::filesystem::path path_;
  InputFile file_;
};

std::string header_of(const std::vector<NamedTensor>& tensors) {
  ordered_json header = ordered_json::object();
  std::uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tag_of(tensor.dtype)},
                           {"shape", tensor.shape.dims()},
                           {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

std::uint32_t write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors, Naming naming) {
  std::ranges::sort(tensors, [](const NamedTensor& a, const NamedTensor& b) {
    const std::size_t size_a = size_of(a.dtype), size_b = size_of(b.dtype);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second || tensor.name == "__metadata__") {
      throw Error(fmt::format("cannot write {}: two tensors are named '{}'", path.string(), tensor.name));
    }
    if (bytes_of(size_of(tensor.dtype), tensor.shape) != tensor.data.size()) {
      throw Error(fmt::format("cannot write {}: tensor '{}' of {} has {} bytes", path.string(), tensor.name,
                              tensor.shape.text(), tensor.data.size()));
    }
  }
  const std::string header = header_of(tensors);
  const std::uint64_t length = header.size();
  AtomicFile file(path, naming);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const NamedTensor& tensor : tensors) file.write(tensor.data);
  file.commit();
  return file.crc32();
}

StoredTensors read_safetensors(const std::filesystem::path& path, std::uint32_t* crc32) {
  Reader reader(path);
  StoredTensors tensors = reader.read();
  if (crc32 != nullptr) *crc32 = reader.crc32();
  return tensors;
}

}  // namespace mirrortrain
