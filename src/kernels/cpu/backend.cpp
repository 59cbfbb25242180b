#include "kernels/cpu/backend.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/paired_weight.h"
#include "kernels/cpu/product_update.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/sparse_rows.h"
#include "kernels/cpu/update.h"
#include "kernels/host_kernels.h"

namespace mirrortrain::cpu {
namespace {

class CpuStepKernels : public StepKernels {
 public:
  void update(Stream&, const UpdateRule& rule, const Group& group, const GradientSum& gradient,
              const StepParams* params, std::int64_t begin, std::int64_t end) const override {
    cpu::update(rule, group, gradient, *params, begin, end);
  }
  int most_sources() const override { return std::numeric_limits<int>::max(); }

  std::span<const std::string_view> product_forms() const override { return kPairForms; }
  bool supports_product(std::int64_t out, DType operands) const override { return takes_product(out, operands); }
  void update_with_product(const UpdateRule& rule, const Group& group, const ProductWeight& weight,
                           std::span<const ProductSource> sources, const StepParams& params, int threads,
                           std::int64_t begin, std::int64_t end) const override {
    cpu::update_with_product(rule, group, weight, sources, params, threads, begin, end);
  }

  bool supports_sparse() const override { return true; }
  void sum_lookups(Stream&, std::span<const Lookups> lookups, const TableWeight& table, float scale,
                   std::span<std::uint64_t> scratch, std::span<float> row, const SparseRows& to) const override {
    cpu::sum_lookups(lookups, table, scale, scratch, row, to);
  }
  void update_sparse(Stream&, const UpdateRule& rule, const Group& group, const TableWeight& table,
                     std::span<const SparseRows> gradients, const StepParams& params, int threads, std::int64_t begin,
                     std::int64_t end) const override {
    cpu::update_sparse(rule, group, table, gradients, params, threads, begin, end);
  }
  void merge_sparse(Stream&, const TableWeight& table, std::span<const SparseRows> gradients,
                    const SparseRows& to) const override {
    cpu::merge_sparse(table, gradients, to);
  }
  void store_sparse(Stream&, const TableWeight& table, std::span<const SparseRows> gradients, bool zeros,
                    float* gradient, std::int64_t begin, std::int64_t end) const override {
    cpu::store_sparse(table, gradients, zeros, gradient, begin, end);
  }

  bool refreshes_rounded() const override { return false; }

  void accumulate(Stream&, const Group& group, const GradientSum& gradient, bool first, std::int64_t begin,
                  std::int64_t end) const override {
    cpu::accumulate(group, gradient, first, begin, end);
  }

  void measure(Stream&, const UpdateRule& rule, const Group& group, const StepParams* params, std::int64_t begin,
               std::int64_t end) const override {
    cpu::measure(rule, group, *params, begin, end);
  }

  void sum_regularization(Stream&, const Group& group, std::int64_t begin, std::int64_t end) const override {
    cpu::regularization_sums(group, begin, end);
  }

  void update_accumulated(Stream&, const UpdateRule& rule, const Group& group, const StepParams* params,
                          std::int64_t begin, std::int64_t end) const override {
    cpu::update_accumulated(rule, group, *params, begin, end);
  }

  void bound_weights(Stream&, const scalar::WeightBounds& norms, float* weights, bfloat16*, std::int64_t begin,
                     std::int64_t end) const override {
    cpu::bound_weights(norms, weights, begin, end);
  }

  void normalize_spectrum(Stream&, const scalar::WeightMatrix& matrix, float* weights, bfloat16*, float* vector,
                          double* scratch) const override {
    cpu::normalize_spectrum(matrix, weights, vector, scratch);
  }

  void sum_sources(Stream&, std::span<const GradientSource> sources, float* to, std::int64_t begin,
                   std::int64_t end) const override {
    cpu::sum_sources(sources, to, begin, end);
  }

  void compress(Stream&, const float* gradient, float* residual, bfloat16* to, std::int64_t count) const override {
    cpu::compress(gradient, residual, to, count);
  }
  void add_compressed(Stream& stream, const scalar::CompressedSum& sum) const override {
    enqueue<&cpu::add_compressed>(stream, sum);
  }
  void add_shards(Stream& stream, const scalar::ShardSum& sum) const override {
    enqueue<&cpu::add_shards>(stream, sum);
  }
  void expand(Stream& stream, const scalar::Expansion& expansion) const override {
    enqueue<&cpu::expand>(stream, expansion);
  }

  void sum_numbers(Stream&, const double* numbers, std::int64_t count, double scale, bool first,
                   double* total) const override {
    *total = (first ? 0 : *total) + scale * std::accumulate(numbers, numbers + count, 0.0);
  }

  void sum_rows(Stream&, const double* numbers, std::int64_t rows, std::int64_t stride, std::int64_t count,
                double* to) const override {
    std::copy_n(numbers, count, to);
    for (std::int64_t row = 1; row < rows; ++row) {
      for (std::int64_t i = 0; i < count; ++i) to[i] += numbers[row * stride + i];
    }
  }

  void scale_to_norm(Stream&, const double* squares, double clip_norm, std::int64_t gradients,
                     StepParams* params) const override {
    const double norm = std::sqrt(*squares) / static_cast<double>(gradients);
    const float factor = norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1.0f;
    params->scale = factor / static_cast<float>(gradients);
  }

 private:
  /// The argument must remain valid until the stream has called the function.
  template <auto kFunction, class Argument>
  static void enqueue(Stream& stream, const Argument& argument) {
    stream.call([](void* of_call) { kFunction(*static_cast<const Argument*>(of_call)); },
                const_cast<Argument*>(&argument));
  }
};

class CpuBackend : public Backend {
 public:
  std::unique_ptr<Device> make_device(int index, int threads, const std::vector<int>& cores) const override {
    return make_cpu_device(index, threads, cores);
  }
  std::shared_ptr<const KernelRegistry> make_registry(const Device&) const override {
    return {std::shared_ptr<void>(), &kernel_registry()};
  }
  const StepKernels& step_kernels() const override { return kernels_; }
  const RowKernels* row_kernels() const override { return nullptr; }
  const CopyKernels* copy_kernels() const override { return nullptr; }

 private:
  CpuStepKernels kernels_;
};

}  // namespace

const Backend& backend() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace mirrortrain::cpu

namespace mirrortrain {

const Backend& host_backend() { return cpu::backend(); }

}  // namespace mirrortrain
