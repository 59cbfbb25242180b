#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/arrays/element.h"
#include "data/dataset.h"
#include "serve/http/refused.h"

namespace mirrortrain {

/// Texts of a tensor: each takes many times its bytes.
constexpr std::size_t kMostTexts = std::size_t{1} << 20;

/// A type of the Open Inference Protocol's tensors.
struct Datatype {
  enum class Kind : std::uint8_t { kNumbers, kBfloat16, kBytes };
  std::string_view name;
  Kind kind = Kind::kNumbers;
  data::Element element{};  ///< of kNumbers
};
/// Throws Refused, saying which there are, for a name that is none.
const Datatype& datatype_of(const std::string& name);

/// A tensor of a request: numbers, or texts (BYTES).
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;  ///< at least one extent, the number of examples; none is negative
  bool is_text = false;
  data::Array numbers{};  ///< as from an npy file
  std::vector<std::string> texts{};

  std::int64_t rows() const { return shape.front(); }
};

/// A whole number. Throws Refused for one that a double would change, which binary data keep.
template <class Integer>
double exact(Integer number) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  if (std::cmp_less_equal(number, kMost) && std::cmp_greater_equal(number, -kMost)) return static_cast<double>(number);
  throw Refused("a whole number is beyond 2^53, which JSON's readers round; send it as binary data");
}

/// The number of elements. Throws Refused, naming the tensor, for shapes that are none.
std::int64_t element_count(const std::string& name, const std::vector<std::int64_t>& shape);
/// The tensor whose elements are in `bytes`, little endian; texts with four bytes before each that say its length.
/// Throws Refused if they are fewer or more.
Tensor tensor_of_bytes(std::string name, std::vector<std::int64_t> shape, const Datatype& type, std::string_view bytes);
/// The tensor with these elements, in row-major order. Throws Refused for a number that the type does not have. NaN
/// stands for a missing number.
Tensor tensor_of_numbers(std::string name, std::vector<std::int64_t> shape, const Datatype& type,
                         const std::vector<double>& numbers);
Tensor tensor_of_texts(std::string name, std::vector<std::int64_t> shape, const Datatype& type,
                       std::vector<std::string> texts);

}  // namespace mirrortrain
