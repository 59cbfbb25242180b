#include <algorithm>
#include <string>

#include "base/error.h"
#include "kernels/cuda/update.h"
#include "kernels/cuda/update_chunks.h"

namespace mirrortrain::cuda {
namespace {

using namespace chunks;
using scalar::GradientSource;
using scalar::UpdateGroupView;

template <class Rule, bool kWhole>
__device__ void apply(const Rule& rule, const StepParams& params, const Group& group, const Place<kWhole>& place,
                      float (&weight)[kPack], float (&gradient)[kPack]) {
  constexpr int kSlots = scalar::kSlotsOf<Rule>, kRoom = kSlots > 0 ? kSlots : 1;
  float slots[kRoom][kPack];
  for (int s = 0; s < kSlots; ++s) load(slots[s], group.slots[s] + place.at, place.count, place.whole);
  for (int i = 0; i < kPack; ++i) {
    // Comparisons that leave NaN as it is.
    float g = gradient[i] * params.scale;
    g = g < -params.clip_value ? -params.clip_value : g;
    g = g > params.clip_value ? params.clip_value : g;
    float of_weight[kRoom];
    for (int s = 0; s < kSlots; ++s) of_weight[s] = slots[s][i];
    rule(weight[i], g, of_weight);
    for (int s = 0; s < kSlots; ++s) slots[s][i] = of_weight[s];
  }
  store(group.master + place.at, weight, place.count, place.whole);
  for (int s = 0; s < kSlots; ++s) store(group.slots[s] + place.at, slots[s], place.count, place.whole);
  if (group.rounded != nullptr) store(group.rounded + place.at, weight, place.count, place.whole);
}

/// The rule as it is at this step: powers in double, which one thread computes for its block.
template <class Rule>
__device__ Rule rule_at(const Rule& rule, const StepParams& params) {
  Rule* shared = shared_memory<Rule>();
  if (threadIdx.x == 0) *shared = rule.at(params.learning_rate, static_cast<long>(params.updates));
  __syncthreads();
  return *shared;
}

template <class Rule>
__global__ void __launch_bounds__(kBlock)
    update_with_sources(Rule rule, Group group, Sources sources, const StepParams* step, Elements elements) {
  const StepParams params = *step;
  const Rule now = rule_at(rule, params);
  each_chunk(elements, [&]<class Whole>(Whole, std::int64_t chunk, std::int64_t end) {
    float gradient[kPacks][kPack], weight[kPacks][kPack];
    chunk_gradient<Whole::value>(group, sources, chunk, end, gradient, weight);
#pragma unroll
    for (int p = 0; p < kPacks; ++p)
      apply(now, params, group, Place<Whole::value>(chunk, p, end), weight[p], gradient[p]);
  });
}

template <class Rule>
__global__ void __launch_bounds__(kBlock)
    update_with_accumulated(Rule rule, Group group, const StepParams* step, Elements elements) {
  const StepParams params = *step;
  const Rule now = rule_at(rule, params);
  each_chunk(elements, [&]<class Whole>(Whole, std::int64_t chunk, std::int64_t end) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const Place<Whole::value> place(chunk, p, end);
      float gradient[kPack], weight[kPack];
      load(weight, group.master + place.at, place.count, place.whole);
      load(gradient, group.accumulated + place.at, place.count, place.whole);
      apply(now, params, group, place, weight, gradient);
    }
  });
}

__global__ void __launch_bounds__(kBlock)
    accumulate_sources(Group group, Sources sources, bool first, Elements elements) {
  each_chunk(elements, [&]<class Whole>(Whole, std::int64_t chunk, std::int64_t end) {
    float gradient[kPacks][kPack], weight[kPacks][kPack];
    chunk_gradient<Whole::value>(group, sources, chunk, end, gradient, weight);
    double squares = 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const Place<Whole::value> place(chunk, p, end);
      float sum[kPack] = {};
      if (!first) load(sum, group.accumulated + place.at, place.count, place.whole);
      for (int i = 0; i < kPack; ++i) {
        sum[i] += gradient[p][i];
        if (i < place.count) squares += static_cast<double>(sum[i]) * static_cast<double>(sum[i]);
      }
      store(group.accumulated + place.at, sum, place.count, place.whole);
    }
    if (group.squares == nullptr) return;
    squares = block_sum(squares);
    if (threadIdx.x == 0) group.squares[chunk / kUpdateChunk] = squares;
  });
}

__global__ void __launch_bounds__(kBlock) store_sum(Sources sources, float* to, Elements elements) {
  each_chunk(elements, [&]<class Whole>(Whole, std::int64_t chunk, std::int64_t end) {
    float sum[kPacks][kPack];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) add_up(sources, Place<Whole::value>(chunk, p, end), sum[p]);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const Place<Whole::value> place(chunk, p, end);
      store(to + place.at, sum[p], place.count, place.whole);
    }
  });
}

__global__ void __launch_bounds__(kBlock)
    add_numbers(const double* numbers, std::int64_t count, double scale, bool first, double* total) {
  const double sum = scale * block_sum_of(numbers, count);
  if (threadIdx.x == 0) *total = first ? sum : *total + sum;
}

__global__ void clip_scale(const double* squares, double clip_norm, std::int64_t gradients, StepParams* params) {
  const double norm = sqrt(*squares) / static_cast<double>(gradients);
  const float factor = norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1.0f;
  params->scale = factor / static_cast<float>(gradients);
}

Group parameter(const UpdateGroupView& group) {
  Group parameter{group.regularized.data(),
                  static_cast<int>(group.regularized.size()),
                  group.master,
                  {},
                  group.accumulated,
                  group.regularization,
                  group.squares,
                  group.rounded};
  std::ranges::copy(group.slots, parameter.slots);
  return parameter;
}

Sources parameter(const scalar::GradientSum& gradient) {
  if (gradient.sources.size() > static_cast<std::size_t>(kMaxSources)) {
    throw Error("an update on CUDA adds at most " + std::to_string(kMaxSources) + " gradients, found " +
                std::to_string(gradient.sources.size()) + "; use fewer replicas on one GPU");
  }
  Sources sources{};
  for (const GradientSource& source : gradient.sources) sources.source[sources.count++] = source;
  sources.regularization = gradient.regularization;
  return sources;
}

unsigned blocks_of(const Elements& elements) { return blocks_for(elements.end - elements.begin, kUpdateChunk); }

}  // namespace

void update(Stream& stream, const scalar::UpdateRule& rule, const UpdateGroupView& group,
            const scalar::GradientSum& gradient, const StepParams* params, std::int64_t begin, std::int64_t end) {
  const Elements elements{begin, end};
  scalar::with_functor(rule, [&]<class Rule>(const Rule& functor) {
    launch(stream, blocks_of(elements), kBlock, sizeof(Rule), update_with_sources<Rule>, functor, parameter(group),
           parameter(gradient), params, elements);
  });
}

void accumulate(Stream& stream, const UpdateGroupView& group, const scalar::GradientSum& gradient, bool first,
                std::int64_t begin, std::int64_t end) {
  const Elements elements{begin, end};
  launch(stream, blocks_of(elements), kBlock, 0, accumulate_sources, parameter(group), parameter(gradient), first,
         elements);
}

void update_accumulated(Stream& stream, const scalar::UpdateRule& rule, const UpdateGroupView& group,
                        const StepParams* params, std::int64_t begin, std::int64_t end) {
  const Elements elements{begin, end};
  scalar::with_functor(rule, [&]<class Rule>(const Rule& functor) {
    launch(stream, blocks_of(elements), kBlock, sizeof(Rule), update_with_accumulated<Rule>, functor, parameter(group),
           params, elements);
  });
}

void sum_sources(Stream& stream, std::span<const GradientSource> sources, float* to, std::int64_t begin,
                 std::int64_t end) {
  const Elements elements{begin, end};
  launch(stream, blocks_of(elements), kBlock, 0, store_sum, parameter(scalar::GradientSum{sources}), to, elements);
}

void sum_numbers(Stream& stream, const double* numbers, std::int64_t count, double scale, bool first, double* total) {
  launch(stream, 1, kBlock, 0, add_numbers, numbers, count, scale, first, total);
}

void scale_to_norm(Stream& stream, const double* squares, double clip_norm, std::int64_t gradients,
                   StepParams* params) {
  launch(stream, 1, 1, 0, clip_scale, squares, clip_norm, gradients, params);
}

}  // namespace mirrortrain::cuda
