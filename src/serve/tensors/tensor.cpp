#include "serve/tensors/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "base/bfloat16.h"
#include "base/utf8.h"

namespace mirrortrain {
namespace {

using data::Element;

constexpr std::size_t kMostAxes = 16;
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

constexpr auto kDatatypes = std::to_array<Datatype>({
    {"BOOL", Datatype::Kind::kNumbers, {Element::Kind::kBool, 1}},
    {"UINT8", Datatype::Kind::kNumbers, {Element::Kind::kUnsigned, 1}},
    {"UINT16", Datatype::Kind::kNumbers, {Element::Kind::kUnsigned, 2}},
    {"UINT32", Datatype::Kind::kNumbers, {Element::Kind::kUnsigned, 4}},
    {"UINT64", Datatype::Kind::kNumbers, {Element::Kind::kUnsigned, 8}},
    {"INT8", Datatype::Kind::kNumbers, {Element::Kind::kSigned, 1}},
    {"INT16", Datatype::Kind::kNumbers, {Element::Kind::kSigned, 2}},
    {"INT32", Datatype::Kind::kNumbers, {Element::Kind::kSigned, 4}},
    {"INT64", Datatype::Kind::kNumbers, {Element::Kind::kSigned, 8}},
    {"FP16", Datatype::Kind::kNumbers, {Element::Kind::kFloat, 2}},
    {"FP32", Datatype::Kind::kNumbers, {Element::Kind::kFloat, 4}},
    {"FP64", Datatype::Kind::kNumbers, {Element::Kind::kFloat, 8}},
    {"BF16", Datatype::Kind::kBfloat16},
    {"BYTES", Datatype::Kind::kBytes},
});

/// The bytes of a tensor.
class TensorBytes : public data::Input {
 public:
  TensorBytes(const std::string& name, std::string_view bytes) : Input("input '" + name + "'"), rest_(bytes) {}
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t count = std::min(to.size(), rest_.size());
    std::memcpy(to.data(), rest_.data(), count);
    rest_.remove_prefix(count);
    return count;
  }
  std::uint64_t most_bytes() const override { return rest_.size(); }

 private:
  std::string_view rest_;
};

std::string text_of(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

void require_count(const std::string& name, const std::vector<std::int64_t>& shape, std::size_t found) {
  const std::int64_t wanted = element_count(name, shape);
  if (static_cast<std::size_t>(wanted) == found) return;
  throw Refused(fmt::format("input '{}': expected {} elements, those of the shape {}, found {}", name, wanted,
                            text_of(shape), found));
}

std::vector<std::string> read_texts(const std::string& name, std::int64_t count, std::string_view bytes) {
  if (count > static_cast<std::int64_t>(kMostTexts)) {
    throw Refused(fmt::format("input '{}': expected at most {} texts, found {}; send fewer examples at once", name,
                              kMostTexts, count),
                  413);
  }
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t length = 0;
    if (bytes.size() >= sizeof length) {
      std::memcpy(&length, bytes.data(), sizeof length);
      bytes.remove_prefix(sizeof length);
    } else {
      length = std::numeric_limits<std::uint32_t>::max();
    }
    if (bytes.size() < length) {
      throw Refused(
          fmt::format("input '{}': expected {} texts, each after four bytes with its length, found the end of "
                      "the data in text {}",
                      name, count, i));
    }
    texts.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (!bytes.empty()) {
    throw Refused(fmt::format("input '{}': {} bytes are left behind its {} texts", name, bytes.size(), count));
  }
  return texts;
}

/// Whether a type has a number; those of floats have all that are not beyond their largest, if rounded.
bool has_number(const Element& element, double number) {
  if (element.kind == Element::Kind::kFloat) {
    const double beyond = element.bytes == 2 ? 65520 : element.bytes == 4 ? 0x1.ffffffp127 : HUGE_VAL;
    return !std::isfinite(number) || std::abs(number) < beyond;
  }
  if (element.kind == Element::Kind::kBool) return number == 0 || number == 1;
  const int bits = static_cast<int>(element.bytes) * 8;
  const bool is_signed = element.kind == Element::Kind::kSigned;
  const double least = is_signed ? -std::ldexp(1, bits - 1) : 0;
  const double beyond = std::ldexp(1, std::min(is_signed ? bits - 1 : bits, 63));  // of what memory has
  return number == std::floor(number) && number >= least && number < beyond;
}

}  // namespace

const Datatype& datatype_of(const std::string& name) {
  const auto* const found = std::ranges::find(kDatatypes, name, &Datatype::name);
  if (found != kDatatypes.end()) return *found;
  std::vector<std::string_view> names;
  for (const Datatype& one : kDatatypes) names.push_back(one.name);
  throw Refused(fmt::format("unknown datatype '{}'; expected one of {}", shortened(name), fmt::join(names, ", ")));
}

std::int64_t element_count(const std::string& name, const std::vector<std::int64_t>& shape) {
  const auto refuse = [&](const std::string& why) {
    throw Refused(fmt::format("input '{}': {}, found the shape {}", name, why, text_of(shape)));
  };
  if (shape.size() > kMostAxes) {
    throw Refused(fmt::format("input '{}': expected at most {} axes, found {}", name, kMostAxes, shape.size()));
  }
  if (shape.empty()) refuse("expected the number of examples as the first extent");
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) refuse("expected extents of at least 0");
    if (extent > 0 && elements > kMostElements / extent) refuse("it has too many elements");
    elements *= extent;
  }
  if (shape.front() == 0) refuse("expected at least one example");
  if (elements == 0) refuse("expected examples with at least one element");
  return elements;
}

Tensor tensor_of_bytes(std::string name, std::vector<std::int64_t> shape, const Datatype& type,
                       std::string_view bytes) {
  const std::int64_t elements = element_count(name, shape);
  Tensor tensor{std::move(name), std::move(shape), type.kind == Datatype::Kind::kBytes};
  if (tensor.is_text) {
    tensor.texts = read_texts(tensor.name, elements, bytes);
    return tensor;
  }
  const std::size_t width = type.kind == Datatype::Kind::kBfloat16 ? 2 : type.element.bytes;
  if (bytes.size() != width * static_cast<std::size_t>(elements)) {
    throw Refused(fmt::format("input '{}': expected {} bytes, those of {} {}, found {}", tensor.name,
                              width * static_cast<std::size_t>(elements), type.name, text_of(tensor.shape),
                              bytes.size()));
  }
  TensorBytes input(tensor.name, bytes);
  if (type.kind == Datatype::Kind::kBfloat16) {
    tensor.numbers = data::Array(DType::kFloat32, Shape(tensor.shape), input.name());
    for (float& number : tensor.numbers.span<float>()) {
      bfloat16 stored;
      input.read_all(std::as_writable_bytes(std::span(&stored.bits, 1)), "numbers");
      number = static_cast<float>(stored);
    }
    return tensor;
  }
  tensor.numbers = data::read_elements(input, type.element, Shape(tensor.shape));
  return tensor;
}

Tensor tensor_of_numbers(std::string name, std::vector<std::int64_t> shape, const Datatype& type,
                         const std::vector<double>& numbers) {
  if (type.kind == Datatype::Kind::kBytes) {
    throw Refused(fmt::format("input '{}': expected texts, as its datatype BYTES says, found numbers", name));
  }
  require_count(name, shape, numbers.size());
  Tensor tensor{std::move(name), std::move(shape)};
  const bool is_bfloat16 = type.kind == Datatype::Kind::kBfloat16;
  const Element element = is_bfloat16 ? Element{Element::Kind::kFloat, 4} : type.element;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (has_number(element, numbers[i])) continue;
    throw Refused(fmt::format("input '{}': element {} (counting from 0) is {}, which {} does not have", tensor.name, i,
                              std::isnan(numbers[i]) ? std::string("null") : fmt::format("{}", numbers[i]), type.name));
  }
  tensor.numbers = data::Array(element.dtype(), Shape(tensor.shape), "input '" + tensor.name + "'");
  data::with_element_type(tensor.numbers.dtype, [&](auto* of_type) {
    using T = std::remove_pointer_t<decltype(of_type)>;
    std::ranges::transform(numbers, tensor.numbers.span<T>().begin(), [&](double number) {
      if (!is_bfloat16) return static_cast<T>(number);
      return static_cast<T>(static_cast<float>(bfloat16(static_cast<float>(number))));
    });
  });
  return tensor;
}

Tensor tensor_of_texts(std::string name, std::vector<std::int64_t> shape, const Datatype& type,
                       std::vector<std::string> texts) {
  if (type.kind != Datatype::Kind::kBytes) {
    throw Refused(fmt::format("input '{}': expected numbers, as its datatype {} says, found texts", name, type.name));
  }
  require_count(name, shape, texts.size());
  return {std::move(name), std::move(shape), true, {}, std::move(texts)};
}

}  // namespace mirrortrain
