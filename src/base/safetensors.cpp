#include "base/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/float16.h"
#include "base/json.h"
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

[[noreturn]] void fail_to_read(const std::filesystem::path& path, std::string_view what) {
  throw Error(
      fmt::format("{}: {}; it is damaged or not a safetensors file, which other programs "
                  "have to save their weights as",
                  path.string(), what));
}

/// The header of a file of `size` bytes, parsed and checked.
class Header {
 public:
  Header(const std::filesystem::path& path, const std::string& text, std::uint64_t size) : path_(path) {
    entries_ = parse(text);
    check_layout(entries_, size - 8 - text.size());
  }
  /// In the order of the file.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  [[noreturn]] void fail(std::string_view what) const { fail_to_read(path_, what); }

  [[noreturn]] void fail(const std::string& name, std::string_view what) const {
    throw Error(fmt::format("{}: tensor {}: {}", path_.string(), shown(name), what));
  }

  std::vector<Entry> parse(const std::string& header) const {
    const JsonRefusals refusals{
        .most_levels = 4,  // a valid header has two
        .deeper = [&] { fail("the header nests too deep"); },
        .key_twice = [&](const std::string& key) { fail(fmt::format("{} is listed twice in the header", shown(key))); },
    };
    json parsed;
    try {
      parsed = parse_json<json>(header, refusals);
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

  const std::filesystem::path& path_;
  std::vector<Entry> entries_;
};

/// Into the order of a file.
template <class Tensor>
void sort_for_file(std::vector<Tensor>& tensors) {
  std::ranges::sort(tensors, [](const Tensor& a, const Tensor& b) {
    const std::size_t size_a = size_of(a.dtype), size_b = size_of(b.dtype);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
}

/// The CRC-32 of bytes followed by `bytes` others, of both.
std::uint32_t joined_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t bytes) {
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(bytes)));
}

/// The header of tensors in the order of the file.
std::string header_of(const std::vector<TensorSpec>& tensors) {
  ordered_json header = ordered_json::object();
  std::uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors) {
    const std::uint64_t end = offset + bytes_of(size_of(tensor.dtype), tensor.shape).value();
    header[tensor.name] = {
        {"dtype", tag_of(tensor.dtype)}, {"shape", tensor.shape.dims()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> tensors, Naming naming)
    : path_(path), file_(path, naming) {
  sort_for_file(tensors);
  for (const TensorSpec& tensor : tensors) {
    if (places_.contains(tensor.name) || tensor.name == "__metadata__") {
      fail(fmt::format("two tensors are named '{}'", tensor.name));
    }
    const auto bytes = bytes_of(size_of(tensor.dtype), tensor.shape);
    if (!bytes) fail(fmt::format("tensor '{}' of {} is too large", tensor.name, tensor.shape.text()));
    places_[tensor.name] = {0, *bytes, tensor.shape.text()};
  }
  const std::string header = header_of(tensors);
  std::uint64_t next = header.size();
  const auto length = std::as_bytes(std::span(&next, 1));
  file_.write(length);
  file_.write(header);
  next_ = next += sizeof next;
  for (const TensorSpec& tensor : tensors) {
    Place& place = places_[tensor.name];
    place.offset = next;
    next += place.bytes;
  }
}

void SafetensorsWriter::fail(const std::string& what) const {
  throw Error(fmt::format("cannot write {}: {}", path_.string(), what));
}

SafetensorsWriter::Place& SafetensorsWriter::place_of(const std::string& name) {
  const auto found = places_.find(name);
  if (found == places_.end()) fail(fmt::format("tensor '{}' was not announced", name));
  return found->second;
}

void SafetensorsWriter::write(const std::string& name, std::span<const std::byte> bytes) {
  const Place& place = place_of(name);
  if (place.is_begun) fail(fmt::format("two tensors are named '{}'", name));
  if (bytes.size() != place.bytes) {
    fail(fmt::format("tensor '{}' of {} has {} bytes", name, place.shape, bytes.size()));
  }
  append(name, bytes);
}

void SafetensorsWriter::append(const std::string& name, std::span<const std::byte> bytes) {
  Place& place = place_of(name);
  if (bytes.size() > place.bytes - place.written) {
    fail(fmt::format("tensor '{}' of {} has more than {} bytes", name, place.shape, place.bytes));
  }
  const std::uint64_t offset = place.offset + std::exchange(place.written, place.written + bytes.size());
  place.is_begun = true;
  if (offset == next_) {  // so that tensors in the file's order can go to a pipe
    file_.write(bytes);
    next_ += bytes.size();
    return;
  }
  file_.overwrite(offset, bytes);
  place.crc32 = joined_crc32(place.crc32, crc32_of(bytes), bytes.size());
}

std::uint32_t SafetensorsWriter::commit() {
  std::vector<const Place*> in_order;
  for (const auto& [name, place] : places_) {
    if (!place.is_written()) fail(fmt::format("tensor '{}' is missing", name));
    in_order.push_back(&place);
  }
  std::ranges::sort(in_order, {}, [](const Place* place) { return std::pair(place->offset, place->bytes); });
  std::uint32_t crc32 = file_.crc32();  // of what was written in order
  for (const Place* place : in_order) {
    if (place->offset >= next_) crc32 = joined_crc32(crc32, place->crc32, place->bytes);
  }
  file_.commit();
  return crc32;
}

std::uint32_t write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors, Naming naming) {
  sort_for_file(tensors);
  std::vector<TensorSpec> specs;
  for (const NamedTensor& tensor : tensors) {
    if (bytes_of(size_of(tensor.dtype), tensor.shape) != tensor.data.size()) {
      throw Error(fmt::format("cannot write {}: tensor '{}' of {} has {} bytes", path.string(), tensor.name,
                              tensor.shape.text(), tensor.data.size()));
    }
    specs.push_back({tensor.name, tensor.dtype, tensor.shape});
  }
  SafetensorsWriter writer(path, std::move(specs), naming);
  for (const NamedTensor& tensor : tensors) writer.write(tensor.name, tensor.data);
  return writer.commit();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path) {
  size_ = InputFile(path).size();  // a file, and no pipe
  descriptor_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor_.is_open()) {
    const int reason = errno;
    throw SystemError(fmt::format("cannot read {}: {}", path.string(), std::strerror(reason)), reason);
  }
  if (size_ < 8) fail_to_read(path, fmt::format("it has {} bytes, less than the 8 of a header's length", size_));
  std::uint64_t length = 0;
  read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > size_ - 8) {
    fail_to_read(path, fmt::format("the header says {} bytes long, but {} follow", length, size_ - 8));
  }
  if (length > kLongestHeader) {
    fail_to_read(path, fmt::format("the header is {} bytes long, the most is {}", length, kLongestHeader));
  }
  header_.resize(8 + length);
  read_at(0, header_);
  const Header header(path_, std::string(reinterpret_cast<const char*>(header_.data()) + 8, length), size_);
  for (const Entry& entry : header.entries()) {
    tensors_.emplace(entry.name, TensorSpec{entry.name, entry.type->dtype, entry.shape});
    places_.push_back({entry.name, header_.size() + entry.begin, entry.end - entry.begin, entry.type->tag == kHalf});
  }
}

void SafetensorsFile::read_at(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(descriptor_.get(), to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int reason = errno;
      throw SystemError(fmt::format("cannot read {}: {}", path_.string(), std::strerror(reason)), reason);
    }
    if (got == 0) fail_to_read(path_, "reading stopped before its end");
    to = to.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

std::vector<std::byte> SafetensorsFile::bytes_of(const Place& place) const {
  std::vector<std::byte> bytes(place.bytes);
  read_at(place.offset, bytes);
  return bytes;
}

StoredTensor SafetensorsFile::tensor_of(const Place& place, std::vector<std::byte> bytes) const {
  const TensorSpec& spec = tensors_.find(place.name)->second;
  return {spec.dtype, spec.shape, place.is_half ? floats_of_halves(bytes) : std::move(bytes)};
}

StoredTensor SafetensorsFile::read(const std::string& name) const {
  const auto place = std::ranges::find(places_, name, &Place::name);
  if (place == places_.end()) throw Error(fmt::format("{}: there is no tensor {}", path_.string(), shown(name)));
  return tensor_of(*place, bytes_of(*place));
}

StoredTensors SafetensorsFile::read_all(std::uint32_t* crc32) const {
  if (crc32 != nullptr) *crc32 = crc32_of(header_);
  StoredTensors tensors;
  for (const Place& place : places_) {  // which fill the file
    std::vector<std::byte> bytes = bytes_of(place);
    if (crc32 != nullptr) *crc32 = crc32_of(bytes, *crc32);
    tensors.emplace(place.name, tensor_of(place, std::move(bytes)));
  }
  return tensors;
}

std::uint32_t SafetensorsFile::crc32() const {
  constexpr std::uint64_t kAtOnce = 1 << 20;
  std::vector<std::byte> bytes(std::min(size_, kAtOnce));
  std::uint32_t crc32 = 0;
  for (std::uint64_t offset = 0; offset < size_; offset += bytes.size()) {
    const auto part = std::span(bytes).first(std::min(size_ - offset, kAtOnce));
    read_at(offset, part);
    crc32 = crc32_of(part, crc32);
  }
  return crc32;
}

StoredTensors read_safetensors(const std::filesystem::path& path, std::uint32_t* crc32) {
  return SafetensorsFile(path).read_all(crc32);
}

}  // namespace mirrortrain
