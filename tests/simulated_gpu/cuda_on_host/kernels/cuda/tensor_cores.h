#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bfloat16.h"
#include "base/error.h"
#include "simulated_gpu/host_warp.h"

// Takes the place of src/kernels/cuda/tensor_cores.h, as runtime.h beside it does. Written from the tables of fragments
// in the PTX ISA, not from the kernels, so that a kernel that puts an element elsewhere computes something else. What
// the hardware leaves undefined, or would do slowly, throws Error: a left or right factor that is not rounded to tf32,
// addresses that are not aligned, rows of a matrix in the same banks.
namespace mirrortrain::cuda {

template <class... Parameters>
bool compiled_for_tensor_cores(void (*)(Parameters...)) {
  return true;
}

namespace host {

/// What a lane gives to a multiplication.
struct Registers {
  const std::uint32_t* left;
  std::uint32_t right[2];
};

/// m16n8k16 of bfloat16: two elements in a register, the lower half first.
struct Bf16Fragments {
  static constexpr int kDepth = 16;
  static float half(std::uint32_t word, int column) {
    return bit_cast<float>(column % 2 == 0 ? word << 16 : word & 0xffff0000u);
  }
  static float left(const Registers* const (&lanes)[32], int row, int k) {
    return half(lanes[row % 8 * 4 + k % 8 / 2]->left[(row >= 8 ? 1 : 0) + (k >= 8 ? 2 : 0)], k);
  }
  static float right(const Registers* const (&lanes)[32], int k, int column) {
    return half(lanes[column * 4 + k % 8 / 2]->right[k >= 8 ? 1 : 0], k);
  }
};

/// m16n8k8 of tf32.
struct Tf32Fragments {
  static constexpr int kDepth = 8;
  static float rounded(std::uint32_t word) {
    if ((word & 0x1fffu) != 0) throw Error("a factor on tensor cores is not rounded to tf32");
    return bit_cast<float>(word);
  }
  static float left(const Registers* const (&lanes)[32], int row, int k) {
    return rounded(lanes[row % 8 * 4 + k % 4]->left[(row >= 8 ? 1 : 0) + (k >= 4 ? 2 : 0)]);
  }
  static float right(const Registers* const (&lanes)[32], int k, int column) {
    return rounded(lanes[column * 4 + k % 4]->right[k >= 4 ? 1 : 0]);
  }
};

template <class Fragments>
void multiply_add(float (&sum)[4], const Registers& own, const Place& place) {
  const auto given = exchange_all(reinterpret_cast<std::uintptr_t>(&own), place);
  const Registers* lanes[32];
  for (std::size_t i = 0; i < 32; ++i) lanes[i] = reinterpret_cast<const Registers*>(given[i]);
  double sums[4];
  for (int i = 0; i < 4; ++i) {
    const int row = lane() / 4 + i / 2 * 8, column = lane() % 4 * 2 + i % 2;
    sums[i] = static_cast<double>(sum[i]);
    for (int k = 0; k < Fragments::kDepth; ++k) {
      sums[i] +=
          static_cast<double>(Fragments::left(lanes, row, k)) * static_cast<double>(Fragments::right(lanes, k, column));
    }
  }
  __syncwarp(0xffffffffu, place);  // every lane has read before one continues
  for (int i = 0; i < 4; ++i) sum[i] = static_cast<float>(sums[i]);
}

/// The rows that lanes give for four matrices; one lane looks at them for all.
inline std::array<std::uint64_t, 32> matrix_rows(const std::byte* row, const Place& place) {
  const auto rows = exchange_all(reinterpret_cast<std::uintptr_t>(row), place);
  for (std::size_t i = 0; lane() == 0 && i < 32; ++i) {
    if (rows[i] % 16 != 0) throw Error("a row of a matrix is not aligned to 16 bytes");
    for (std::size_t other = i / 8 * 8; other < i; ++other) {
      if (rows[i] / 16 % 8 == rows[other] / 16 % 8)
        throw Error("rows of a matrix are in the same banks of shared memory");
    }
  }
  return rows;
}

template <class Word>
void load_words(std::uint32_t (&to)[4], const std::byte* row, const Place& place, const Word& word) {
  const auto rows = matrix_rows(row, place);
  for (std::size_t matrix = 0; matrix < 4; ++matrix) {
    to[matrix] =
        word([&](int r) { return reinterpret_cast<const std::byte*>(rows[matrix * 8 + static_cast<std::size_t>(r)]); });
  }
  __syncwarp(0xffffffffu, place);
}

/// A copy that a thread has not waited for: it is done when it waits, so that who reads earlier reads something else.
struct Copy {
  std::byte* to;
  const void* from;  ///< null: zeroes
};
struct ThreadsCopies {
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> groups;
};
inline ThreadsCopies& copies_of_this_thread() {
  static thread_local std::vector<ThreadsCopies> of_threads(1024);
  return of_threads[threadIdx.x];
}

}  // namespace host

inline void multiply_add_bf16(float (&sum)[4], const std::uint32_t (&left)[4], std::uint32_t right0,
                              std::uint32_t right1, const host::Place& place = host::Place::current()) {
  host::multiply_add<host::Bf16Fragments>(sum, {left, {right0, right1}}, place);
}
inline void multiply_add_tf32(float (&sum)[4], const std::uint32_t (&left)[4], std::uint32_t right0,
                              std::uint32_t right1, const host::Place& place = host::Place::current()) {
  host::multiply_add<host::Tf32Fragments>(sum, {left, {right0, right1}}, place);
}

inline std::uint32_t rounded_to_tf32(std::uint32_t bits) {
  if ((bits & 0x7f800000u) == 0x7f800000u)
    return bits & 0xffffe000u;  // infinities, and NaN that tests make: its upper bits
  return (bits + 0x1000u) & 0xffffe000u;
}

inline void load_matrices(std::uint32_t (&to)[4], const std::byte* row,
                          const host::Place& place = host::Place::current()) {
  const int lane = host::lane();
  host::load_words(to, row, place, [lane](const auto& row_of) {
    std::uint32_t word;
    std::memcpy(&word, row_of(lane / 4) + lane % 4 * 4, sizeof(word));
    return word;
  });
}
inline void load_transposed_matrices(std::uint32_t (&to)[4], const std::byte* row,
                                     const host::Place& place = host::Place::current()) {
  const int lane = host::lane();
  host::load_words(to, row, place, [lane](const auto& row_of) {
    std::uint16_t halves[2];
    for (int i = 0; i < 2; ++i) std::memcpy(&halves[i], row_of(lane % 4 * 2 + i) + lane / 4 * 2, sizeof(halves[i]));
    return halves[0] | static_cast<std::uint32_t>(halves[1]) << 16;
  });
}

inline void copy_async(std::byte* to, const void* from, bool exists) {
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || (exists && reinterpret_cast<std::uintptr_t>(from) % 16 != 0))
    throw Error("a copy to shared memory is not aligned to 16 bytes");
  host::copies_of_this_thread().open.push_back({to, exists ? from : nullptr});
}
inline void commit_copies() {
  host::ThreadsCopies& copies = host::copies_of_this_thread();
  copies.groups.push_back(std::move(copies.open));
  copies.open.clear();
}
template <int kLatest>
void wait_for_copies() {
  auto& groups = host::copies_of_this_thread().groups;
  while (groups.size() > kLatest) {
    for (const host::Copy& copy : groups.front()) {
      if (copy.from == nullptr) {
        std::memset(copy.to, 0, 16);
      } else {
        std::memcpy(copy.to, copy.from, 16);
      }
    }
    groups.erase(groups.begin());
  }
}

inline float exp2_approximately(float x) { return std::exp2(x); }

}  // namespace mirrortrain::cuda
