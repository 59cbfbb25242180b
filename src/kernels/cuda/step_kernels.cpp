#include "kernels/cuda/step_kernels.h"

#include "kernels/copy_kernels.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/update.h"

namespace mirrortrain::cuda {
namespace {

class CudaStepKernels : public StepKernels {
 public:
  void update(Stream& stream, const scalar::UpdateRule& rule, const Group& group, const scalar::GradientSum& gradient,
              const StepParams* params, std::int64_t begin, std::int64_t end) const override {
    cuda::update(stream, rule, group, gradient, params, begin, end);
  }
  int most_sources() const override { return kMaxSources; }
  bool refreshes_rounded() const override { return true; }

  void accumulate(Stream& stream, const Group& group, const scalar::GradientSum& gradient, bool first,
                  std::int64_t begin, std::int64_t end) const override {
    cuda::accumulate(stream, group, gradient, first, begin, end);
  }

  void sum_regularization(Stream& stream, const Group& group, std::int64_t begin, std::int64_t end) const override {
    cuda::sum_regularization(stream, group, begin, end);
  }

  void measure(Stream& stream, const scalar::UpdateRule& rule, const Group& group, const StepParams* params,
               std::int64_t begin, std::int64_t end) const override {
    cuda::measure(stream, rule, group, params, begin, end);
  }

  void update_accumulated(Stream& stream, const scalar::UpdateRule& rule, const Group& group, const StepParams* params,
                          std::int64_t begin, std::int64_t end) const override {
    cuda::update_accumulated(stream, rule, group, params, begin, end);
  }

  void bound_weights(Stream& stream, const scalar::WeightBounds& norms, float* weights, bfloat16* rounded,
                     std::int64_t begin, std::int64_t end) const override {
    cuda::bound_weights(stream, norms, weights, rounded, begin, end);
  }

  void normalize_spectrum(Stream& stream, const scalar::WeightMatrix& matrix, float* weights, bfloat16* rounded,
                          float* vector, double* scratch) const override {
    cuda::normalize_spectrum(stream, matrix, weights, rounded, vector, scratch);
  }

  void sum_sources(Stream& stream, std::span<const scalar::GradientSource> sources, float* to, std::int64_t begin,
                   std::int64_t end) const override {
    cuda::sum_sources(stream, sources, to, begin, end);
  }

  void compress(Stream& stream, const float* gradient, float* residual, bfloat16* to,
                std::int64_t count) const override {
    cuda::compress(stream, gradient, residual, to, count);
  }
  void add_compressed(Stream& stream, const scalar::CompressedSum& sum) const override {
    cuda::add_compressed(stream, sum);
  }
  void add_shards(Stream& stream, const scalar::ShardSum& sum) const override { cuda::add_shards(stream, sum); }
  void expand(Stream& stream, const scalar::Expansion& expansion) const override { cuda::expand(stream, expansion); }

  void sum_numbers(Stream& stream, const double* numbers, std::int64_t count, double scale, bool first,
                   double* total) const override {
    cuda::sum_numbers(stream, numbers, count, scale, first, total);
  }

  void sum_rows(Stream& stream, const double* numbers, std::int64_t rows, std::int64_t stride, std::int64_t count,
                double* to) const override {
    cuda::sum_rows(stream, numbers, rows, stride, count, to);
  }

  void scale_to_norm(Stream& stream, const double* squares, double clip_norm, std::int64_t gradients,
                     StepParams* params) const override {
    cuda::scale_to_norm(stream, squares, clip_norm, gradients, params);
  }
};

class CudaCopyKernels : public CopyKernels {
 public:
  void combine_copies(Stream& stream, const float* from, int copies, std::int64_t stride, bool mean, float* to,
                      std::int64_t count) const override {
    cuda::combine_copies(stream, from, copies, stride, mean, to, count);
  }
};

class CudaRowKernels : public RowKernels {
 public:
  void gather(Stream& stream, const DeviceBatch& batch) const override { cuda::gather(stream, batch); }
};

}  // namespace

const StepKernels& step_kernels() {
  static const CudaStepKernels kernels;
  return kernels;
}

const CopyKernels& copy_kernels() {
  static const CudaCopyKernels kernels;
  return kernels;
}

const RowKernels& row_kernels() {
  static const CudaRowKernels kernels;
  return kernels;
}

}  // namespace mirrortrain::cuda
