#include "kernels/cuda/tensor_cores.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/fragments.h"
#include "kernels/storage.h"

namespace mirrortrain::cuda {
namespace {

constexpr int kColumns = 32, kRows = 16;

/// The message of the Error that a warp's launch throws, or nothing.
std::string error_of(const std::function<void()>& body, std::size_t shared_bytes = 4096) {
  try {
    host::run_grid({1}, {32}, shared_bytes, body);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A random matrix whose elements are exact in T and in tf32.
template <class T>
std::vector<T> random_matrix(int rows, int columns) {
  static std::mt19937 bits(1);
  std::vector<T> matrix;
  for (int i = 0; i < rows * columns; ++i) {
    matrix.push_back(T(static_cast<float>(bfloat16(static_cast<float>(bits() % 2048) / 1024 - 1))));
  }
  return matrix;
}

template <class T>
double at(const std::vector<T>& matrix, int columns, int row, int column) {
  return static_cast<double>(static_cast<float>(matrix[static_cast<std::size_t>(row * columns + column)]));
}

/// In shared memory, as load_steps of attention puts it there.
template <class T>
void put(std::byte* to, const std::vector<T>& matrix, int columns) {
  const int row_bytes = columns * static_cast<int>(sizeof(T)) + 16;
  for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(matrix.size()); i += 32) {
    std::memcpy(to + i / columns * row_bytes + i % columns * static_cast<int>(sizeof(T)),
                &matrix[static_cast<std::size_t>(i)], sizeof(T));
  }
}

/// left rightᵀ, and that product times `last`, by a warp: [16, 32] each.
template <class T>
void check_products(int depth) {
  const auto left = random_matrix<T>(kRows, 64), right = random_matrix<T>(kColumns, 64),
             last = random_matrix<T>(kColumns, 32);
  std::vector<double> products(kRows * kColumns), of_rows(kRows * kColumns);
  constexpr int kWide = kRowBytesOf<T, 64>, kNarrow = kRowBytesOf<T, 32>;
  host::run_grid({1}, {32}, (kRows + kColumns) * kWide + kColumns * kNarrow, [&] {
    std::byte* const shared = shared_memory<std::byte>();
    std::byte *const of_right = shared + kRows * kWide, *const of_last = of_right + kColumns * kWide;
    put(shared, left, 64);
    put(of_right, right, 64);
    put(of_last, last, 32);
    __syncthreads();
    Sums sums[kColumns / 8] = {}, then[4] = {};
    for (int step = 0; step < depth / kDepth<T>; ++step) {
      const LeftFragment one[1] = {left_fragment<T, kWide>(shared, step)};
      add_product_with_columns<T, kWide>(sums, one, of_right + step * 32);
    }
    add_product_with_rows<T, kNarrow>(then, sums, of_last);
    for (int tile = 0; tile < kColumns / 8; ++tile) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane_row() + i / 2 * 8, column = tile * 8 + lane_word() * 2 + i % 2;
        products[static_cast<std::size_t>(row * kColumns + column)] = static_cast<double>(sums[tile][i]);
        of_rows[static_cast<std::size_t>(row * kColumns + column)] = static_cast<double>(then[tile][i]);
      }
    }
  });
  std::vector<double> expected(products.size());
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      double& sum = expected[static_cast<std::size_t>(row * kColumns + column)];
      for (int k = 0; k < depth; ++k) sum += at(left, 64, row, k) * at(right, 64, column, k);
      CHECK(products[static_cast<std::size_t>(row * kColumns + column)] == doctest::Approx(sum).epsilon(1e-5));
    }
  }
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < 32; ++column) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < kColumns; ++k) {
        const double term = expected[static_cast<std::size_t>(row * kColumns + k)] * at(last, 32, k, column);
        sum += term, magnitude += std::abs(term);
      }
      // The first product is rounded to T, or to tf32.
      const double tolerance = magnitude * (sizeof(T) == 2 ? 0x1p-8 : 0x1p-10);
      CHECK(std::abs(of_rows[static_cast<std::size_t>(row * kColumns + column)] - sum) <= tolerance);
    }
  }
}

}  // namespace

TEST_CASE("products of fragments are those of the matrices, and a product's sums are the next one's left factor") {
  for (const int depth : {16, 32, 64}) {
    check_products<bfloat16>(depth);
    check_products<float>(depth);
  }
}

TEST_CASE("what tensor cores would do wrongly or slowly is an error") {
  CHECK(error_of([] {
          Sums sums = {};
          const std::uint32_t left[4] = {1, 0, 0, 0};
          multiply_add_tf32(sums, left, 0, 0);
        }) == "a factor on tensor cores is not rounded to tf32");
  CHECK(error_of([] { left_fragment<bfloat16, 128>(shared_memory<std::byte>(), 0); }) ==
        "rows of a matrix are in the same banks of shared memory");
  CHECK(error_of([] { left_fragment<bfloat16, 72>(shared_memory<std::byte>(), 0); }) ==
        "a row of a matrix is not aligned to 16 bytes");
  CHECK(error_of([] { left_fragment<bfloat16, 144>(shared_memory<std::byte>(), 0); }) == "");
}

TEST_CASE("copies are there after the wait for their group") {
  const testing::Storage storage(64);
  std::memset(storage.data(), 1, 64);
  host::run_grid({1}, {1}, 64, [&] {
    std::byte* const shared = shared_memory<std::byte>();
    copy_async(shared, storage.data(), true);
    commit_copies();
    copy_async(shared + 16, storage.data() + 16, true);
    copy_async(shared + 32, nullptr, false);
    commit_copies();
    CHECK(shared[0] == std::byte{0xff});
    wait_for_copies<1>();
    CHECK(shared[15] == std::byte{1});
    CHECK(shared[16] == std::byte{0xff});
    wait_for_copies<0>();
    CHECK(shared[31] == std::byte{1});
    CHECK(shared[47] == std::byte{0});
    CHECK(shared[48] == std::byte{0xff});
  });
}

TEST_CASE("tf32 is rounded to nearest, ties away from zero") {
  CHECK(bit_cast<float>(rounded_to_tf32(bit_cast<std::uint32_t>(1.0f + 0x1p-11f))) == 1.0f + 0x1p-10f);
  CHECK(bit_cast<float>(rounded_to_tf32(bit_cast<std::uint32_t>(-1.0f - 0x1p-12f))) == -1.0f);
  CHECK(rounded_to_tf32(0x7f800000u) == 0x7f800000u);
}

}  // namespace mirrortrain::cuda
