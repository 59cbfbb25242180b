#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

// Instructions of a warp on matrices in the lanes' registers, and copies to shared memory that a thread does not wait
// for, as the PTX ISA documents them (chapters "Warp-level Matrix Instructions" and "Data Movement and Conversion
// Instructions: Asynchronous copy"). They need compute capability 8.0. Tests compile the same kernels as plain C++ with
// another header of this name. fragments.h says which lane holds which element.
namespace mirrortrain::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
// Compiled but never launched: compiled_for_tensor_cores() is false.
#define MIRRORTRAIN_PTX(...) __trap()
#else
#define MIRRORTRAIN_PTX(...) asm volatile(__VA_ARGS__)
#endif

/// A pointer to shared memory as instructions take it.
__device__ inline std::uint32_t shared_address(const std::byte* memory) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
}

/// Whether the code of this kernel that the current GPU runs has tensor cores' instructions; false without a GPU.
template <class... Parameters>
bool compiled_for_tensor_cores(void (*kernel)(Parameters...)) {
  cudaFuncAttributes found{};
  return cudaFuncGetAttributes(&found, reinterpret_cast<const void*>(kernel)) == cudaSuccess && found.ptxVersion >= 80;
}

/// sum += left · right of 16 x 16 and 16 x 8 bfloat16, added in float32.
__device__ inline void multiply_add_bf16(float (&sum)[4], const std::uint32_t (&left)[4], std::uint32_t right0,
                                         std::uint32_t right1) {
  MIRRORTRAIN_PTX(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
}

/// The same of 16 x 8 and 8 x 8 numbers that rounded_to_tf32() has made.
__device__ inline void multiply_add_tf32(float (&sum)[4], const std::uint32_t (&left)[4], std::uint32_t right0,
                                         std::uint32_t right1) {
  MIRRORTRAIN_PTX(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
}

/// A float's bits with 10 bits of mantissa, rounded to nearest, ties away from zero.
__device__ inline std::uint32_t rounded_to_tf32(std::uint32_t bits) {
  std::uint32_t rounded = 0;
  MIRRORTRAIN_PTX("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "r"(bits));
  return rounded;
}

/// Four matrices of 8 rows of 16 bytes in shared memory: lane 8 i + r gives row r of matrix i, aligned to 16 bytes, and
/// lane l gets word l % 4 of row l / 4 of each.
__device__ inline void load_matrices(std::uint32_t (&to)[4], const std::byte* row) {
  MIRRORTRAIN_PTX("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                  : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                  : "r"(shared_address(row))
                  : "memory");
}

/// The same, transposed as matrices of 8 x 8 elements of two bytes.
__device__ inline void load_transposed_matrices(std::uint32_t (&to)[4], const std::byte* row) {
  MIRRORTRAIN_PTX("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                  : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                  : "r"(shared_address(row))
                  : "memory");
}

/// Copies 16 bytes to shared memory, or zeroes where nothing `exists`; both are aligned to 16 bytes. They are there for
/// this thread after wait_for_copies, for the others after a barrier behind it.
__device__ inline void copy_async(std::byte* to, const void* from, bool exists) {
  MIRRORTRAIN_PTX("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                  "r"(exists ? 16 : 0)
                  : "memory");
}

/// Makes one group of this thread's copies since the last one.
__device__ inline void commit_copies() { MIRRORTRAIN_PTX("cp.async.commit_group;" ::: "memory"); }

/// Waits for this thread's groups of copies but the latest kLatest.
template <int kLatest>
__device__ inline void wait_for_copies() {
  MIRRORTRAIN_PTX("cp.async.wait_group %0;" ::"n"(kLatest) : "memory");
}

/// 2^x to about two units in the last place; 0 for minus infinity, NaN propagates.
__device__ inline float exp2_approximately(float x) {
  float power = 0;
  MIRRORTRAIN_PTX("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

#undef MIRRORTRAIN_PTX

}  // namespace mirrortrain::cuda
