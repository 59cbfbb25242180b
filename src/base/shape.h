#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace mirrortrain {

/// The extents of a dense, row-major tensor, outermost first. A scalar has no dimensions and one element.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  std::size_t rank() const { return dims_.size(); }
  std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }
  std::int64_t& operator[](std::size_t axis) { return dims_[axis]; }
  std::int64_t back() const { return dims_.back(); }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  std::int64_t elements() const;
  /// Whether memory could ever hold as many elements, some 10^12; if not, elements() may be anything.
  bool is_possible() const;

  /// This shape with `rows` put in front.
  Shape with_rows(std::int64_t rows) const;

  /// "[28, 28, 1]", for messages: where there are very many extents, only the first.
  std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> dims_;
};

}  // namespace mirrortrain
