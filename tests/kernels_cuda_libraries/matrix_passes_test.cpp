#include "kernels/cuda/matrix_passes.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory_resource>
#include <vector>

#include "base/bfloat16.h"
#include "kernels/storage.h"
#include "kernels_cuda/under_test.h"

using namespace mirrortrain;
using testing::stream_under_test;

namespace {

/// A number that bfloat16 holds exactly, different for neighbours in both directions.
float element(std::int64_t row, std::int64_t column) { return static_cast<float>((row * 37 + column * 5) % 251 - 125); }

template <class T>
std::pmr::vector<T> matrix(std::int64_t rows, std::int64_t columns) {
  std::pmr::vector<T> made;
  for (std::int64_t i = 0; i < rows * columns; ++i) made.push_back(T(element(i / columns, i % columns)));
  return made;
}

template <class T>
const std::byte* bytes(const std::pmr::vector<T>& elements) {
  return reinterpret_cast<const std::byte*>(elements.data());
}
template <class T>
std::byte* bytes(std::pmr::vector<T>& elements) {
  return reinterpret_cast<std::byte*>(elements.data());
}

struct Extents {
  std::int64_t rows, columns;
};
constexpr Extents kExtents[] = {{1, 1},   {1, 70},  {70, 1},    {31, 33},  {32, 32},
                                {64, 96}, {9, 200}, {1300, 10}, {700, 65}, {70000, 2}};

template <class From, class To>
void check_transpose(const Extents& e) {
  Stream& stream = stream_under_test();
  const auto from = matrix<From>(e.rows, e.columns);
  std::pmr::vector<To> to(from.size() + 1, To(-1.0f));
  cuda::transpose(stream, e.rows, e.columns, kDTypeOf<From>, bytes(from), kDTypeOf<To>, bytes(to));
  stream.synchronize();
  bool right = static_cast<float>(to.back()) == -1.0f;  // nothing past the end
  for (std::int64_t i = 0; i < e.rows * e.columns; ++i) {
    right = right && static_cast<float>(to[static_cast<std::size_t>(i)]) == element(i % e.rows, i / e.rows);
  }
  CHECK(right);
}

template <class T>
void check_sums(const Extents& e) {
  Stream& stream = stream_under_test();
  const auto from = matrix<T>(e.rows, e.columns);
  std::pmr::vector<float> sums(static_cast<std::size_t>(e.columns) + 1, -1.0f);
  std::pmr::vector<std::byte> workspace(cuda::column_sums_workspace(e.rows, e.columns));
  cuda::column_sums(stream, e.rows, e.columns, kDTypeOf<T>, bytes(from), sums.data(), workspace.data());
  stream.synchronize();
  CHECK(sums.back() == -1.0f);
  for (std::int64_t column = 0; column < e.columns; ++column) {
    float expected = 0;  // whole numbers, so that any order gives the same
    for (std::int64_t row = 0; row < e.rows; ++row) expected += element(row, column);
    if (sums[static_cast<std::size_t>(column)] != expected) FAIL_CHECK("column " << column);
  }
}

template <class T>
void check_padding(const Extents& e) {
  Stream& stream = stream_under_test();
  const auto from = matrix<T>(e.rows, e.columns);
  const std::int64_t stride = cuda::padded_stride(e.columns, kDTypeOf<T>);
  CHECK(stride * static_cast<std::int64_t>(sizeof(T)) % 16 == 0);
  CHECK((stride >= e.columns && stride < e.columns + 16));
  const testing::Storage to(static_cast<std::size_t>(e.rows * stride) * sizeof(T));
  cuda::pad_rows(stream, e.rows, e.columns, kDTypeOf<T>, bytes(from), to.data());
  stream.synchronize();
  bool right = to.intact();
  for (std::int64_t i = 0; i < e.rows * e.columns; ++i) {
    const std::int64_t row = i / e.columns, column = i % e.columns;
    right = right &&
            static_cast<float>(reinterpret_cast<const T*>(to.data())[row * stride + column]) == element(row, column);
  }
  CHECK(right);
}

template <class T>
void check_add(const Extents& e) {
  Stream& stream = stream_under_test();
  const auto bias = matrix<T>(1, e.columns);
  auto sum = matrix<T>(e.rows, e.columns);
  sum.push_back(T(-1.0f));
  cuda::add_to_rows(stream, e.rows, e.columns, kDTypeOf<T>, bytes(bias), bytes(sum));
  stream.synchronize();
  bool right = static_cast<float>(sum.back()) == -1.0f;  // nothing past the end
  for (std::int64_t i = 0; i < e.rows * e.columns; ++i) {
    const float expected = element(i / e.columns, i % e.columns) + element(0, i % e.columns);
    right = right && static_cast<float>(sum[static_cast<std::size_t>(i)]) == expected;
  }
  CHECK(right);
}

template <class Check>
void in_every_grid(const Check& check) {
  testing::in_each_geometry([&](std::int64_t blocks) {
    for (const Extents& e : kExtents) {
      INFO(e.rows << " x " << e.columns << ", " << blocks << " blocks");
      check(e);
    }
  });
}

}  // namespace

TEST_CASE("transpose turns matrices of any extents, between dtypes") {
  in_every_grid([](const Extents& e) {
    check_transpose<float, float>(e);
    check_transpose<float, bfloat16>(e);
    check_transpose<bfloat16, float>(e);
  });
}

TEST_CASE("add_to_rows adds a vector to every row of matrices of any extents") {
  in_every_grid([](const Extents& e) {
    check_add<float>(e);
    check_add<bfloat16>(e);
  });
}

TEST_CASE("pad_rows lets every row begin at 16 bytes") {
  in_every_grid([](const Extents& e) {
    check_padding<float>(e);
    check_padding<bfloat16>(e);
  });
}

TEST_CASE("column_sums adds up every column of matrices of any extents") {
  in_every_grid([](const Extents& e) {
    check_sums<float>(e);
    check_sums<bfloat16>(e);
  });
}

TEST_CASE("passes over rows that are longer leave out what is behind the columns") {
  for (const std::int64_t rows : {1, 40, 700}) {
    constexpr std::int64_t kColumns = 43, kStride = 48;
    Stream& stream = stream_under_test();
    const auto from = matrix<bfloat16>(rows, kStride), bias = matrix<bfloat16>(1, kColumns);
    std::pmr::vector<float> sums(kColumns + 1, -1.0f);
    std::pmr::vector<std::byte> workspace(cuda::column_sums_workspace(rows, kColumns));
    auto sum = from;
    cuda::column_sums(stream, rows, kColumns, DType::kBfloat16, bytes(from), sums.data(), workspace.data(), kStride);
    cuda::add_to_rows(stream, rows, kColumns, DType::kBfloat16, bytes(bias), bytes(sum), kStride);
    stream.synchronize();
    CHECK(sums.back() == -1.0f);
    for (std::int64_t column = 0; column < kStride; ++column) {
      float expected = 0;
      bool right = true;
      for (std::int64_t row = 0; row < rows; ++row) {
        expected += element(row, column);
        const float added = column < kColumns ? element(0, column) : 0;
        right = right && static_cast<float>(sum[static_cast<std::size_t>(row * kStride + column)]) ==
                             element(row, column) + added;
      }
      CHECK(right);
      if (column < kColumns) CHECK(sums[static_cast<std::size_t>(column)] == expected);
    }
  }
}

TEST_CASE("column_sums of no rows are zero") {
  Stream& stream = stream_under_test();
  std::pmr::vector<float> sums(5, -1.0f);
  cuda::column_sums(stream, 0, 5, DType::kFloat32, nullptr, sums.data(), nullptr);
  stream.synchronize();
  CHECK(sums == std::pmr::vector<float>(5, 0.0f));
}

TEST_CASE("to_float32 widens any number of elements and nothing past the end") {
  for (const std::int64_t count : {0, 1, 7, 8, 9, 4096, 70001}) {
    Stream& stream = stream_under_test();
    const auto from = matrix<bfloat16>(1, count);
    std::pmr::vector<float> to(from.size() + 1, 0.5f);  // which no element is
    testing::in_each_geometry([&](std::int64_t) {
      cuda::to_float32(stream, count, bytes(from), bytes(to));
      stream.synchronize();
      bool right = to.back() == 0.5f;
      for (std::int64_t i = 0; i < count; ++i) right = right && to[static_cast<std::size_t>(i)] == element(0, i);
      CHECK(right);
    });
  }
}
