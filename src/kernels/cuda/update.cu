#include <algorithm>
#include <string>

#include "base/error.h"
#include "kernels/cuda/update.h"
#include "kernels/cuda/update_chunks.h"

namespace mirrortrain::cuda {
namespace {

using namespace chunks;
using scalar::GradientSource;
using scalar::NormedSegment;
using scalar::NormSums;
using scalar::RuleAtStep;
using scalar::UpdateGroupView;

/// Comparisons that propagate NaN.
template <class Rule>
__device__ float scaled_and_clipped(float gradient, const RuleAtStep<Rule>& now) {
  float g = gradient * now.scale;
  g = g < -now.clip_value ? -now.clip_value : g;
  return g > now.clip_value ? now.clip_value : g;
}

/// Updates the weights' moving average, which may overwrite them.
template <class Rule, bool kWhole>
__device__ void average(const RuleAtStep<Rule>& now, const Group& group, const Place<kWhole>& place,
                        float (&weight)[kPack]) {
  if (group.average == nullptr) return;
  float averages[kPack];
  load(averages, group.average + place.at, place.count, place.whole);
  for (int i = 0; i < kPack; ++i) {
    averages[i] = now.averaged(averages[i], weight[i]);
    if (now.overwrites) weight[i] = averages[i];
  }
  store(group.average + place.at, averages, place.count, place.whole);
}

template <class Rule, bool kWhole>
__device__ void apply(const RuleAtStep<Rule>& now, const Group& group, const Place<kWhole>& place,
                      float (&weight)[kPack], float (&gradient)[kPack]) {
  constexpr int kSlots = scalar::kSlotsOf<Rule>, kRoom = kSlots > 0 ? kSlots : 1;
  float slots[kRoom][kPack];
  for (int s = 0; s < kSlots; ++s) load(slots[s], group.slots[s] + place.at, place.count, place.whole);
  for (int i = 0; i < kPack; ++i) {
    float of_weight[kRoom];
    for (int s = 0; s < kSlots; ++s) of_weight[s] = slots[s][i];
    weight[i] *= now.kept;
    now.rule(weight[i], scaled_and_clipped(gradient[i], now), of_weight);
    for (int s = 0; s < kSlots; ++s) slots[s][i] = of_weight[s];
  }
  average(now, group, place, weight);
  store(group.master + place.at, weight, place.count, place.whole);
  for (int s = 0; s < kSlots; ++s) store(group.slots[s] + place.at, slots[s], place.count, place.whole);
  if (group.rounded != nullptr) store(group.rounded + place.at, weight, place.count, place.whole);
}

/// The rule at this step: powers in double, which one thread computes for its block.
template <class Rule>
__device__ RuleAtStep<Rule> rule_at(const Rule& rule, const Group& group, const StepParams& params) {
  RuleAtStep<Rule>* shared = shared_memory<RuleAtStep<Rule>>();
  if (threadIdx.x == 0) *shared = RuleAtStep<Rule>(rule, group.traits, params);
  __syncthreads();
  return *shared;
}

template <class Rule>
__global__ void __launch_bounds__(kBlock)
    update_with_sources(Rule rule, Group group, Sources sources, const StepParams* step, Elements elements) {
  const RuleAtStep<Rule> now = rule_at(rule, group, *step);
  each_chunk(elements, [&]<class Whole>(Whole, std::int64_t chunk, std::int64_t end) {
    float gradient[kPacks][kPack], weight[kPacks][kPack];
    chunk_gradient<Whole::value>(group, sources, chunk, end, gradient, weight);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) apply(now, group, Place<Whole::value>(chunk, p, end), weight[p], gradient[p]);
  });
}

template <class Rule>
__global__ void __launch_bounds__(kBlock)
    update_with_accumulated(Rule rule, Group group, const StepParams* step, Elements elements) {
  const RuleAtStep<Rule> now = rule_at(rule, group, *step);
  each_chunk(elements, [&]<class Whole>(Whole, std::int64_t chunk, std::int64_t end) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const Place<Whole::value> place(chunk, p, end);
      float gradient[kPack], weight[kPack];
      load(weight, group.master + place.at, place.count, place.whole);
      load(gradient, group.accumulated + place.at, place.count, place.whole);
      apply(now, group, place, weight, gradient);
    }
  });
}

/// Decays the weights, replaces the accumulated gradient by each variable's direction, and computes the sums of both.
template <class Rule>
__global__ void __launch_bounds__(kBlock)
    measure_directions(Rule rule, Group group, const StepParams* step, Elements elements) {
  constexpr int kSlots = scalar::kSlotsOf<Rule>;
  const RuleAtStep<Rule> now = rule_at(rule, group, *step);
  each_chunk(elements, [&]<class Whole>(Whole, std::int64_t chunk, std::int64_t end) {
    float weight[kPacks][kPack], direction[kPacks][kPack];
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const Place<Whole::value> place(chunk, p, end);
      float slots[kSlots][kPack];
      load(weight[p], group.master + place.at, place.count, place.whole);
      load(direction[p], group.accumulated + place.at, place.count, place.whole);
      for (int s = 0; s < kSlots; ++s) load(slots[s], group.slots[s] + place.at, place.count, place.whole);
      for (int i = 0; i < kPack; ++i) {
        float of_weight[kSlots];
        for (int s = 0; s < kSlots; ++s) of_weight[s] = slots[s][i];
        weight[p][i] *= now.kept;
        direction[p][i] = now.rule.direction(scaled_and_clipped(direction[p][i], now), of_weight);
        for (int s = 0; s < kSlots; ++s) slots[s][i] = of_weight[s];
      }
      store(group.master + place.at, weight[p], place.count, place.whole);
      store(group.accumulated + place.at, direction[p], place.count, place.whole);
      for (int s = 0; s < kSlots; ++s) store(group.slots[s] + place.at, slots[s], place.count, place.whole);
    }
    for (int v = first_segment(group.normed, group.normed_count, chunk);
         v < group.normed_count && group.normed[v].begin < end; ++v) {
      const NormedSegment variable = group.normed[v];
      NormSums sums;
      for (int p = 0; p < kPacks; ++p) {
        const Place<Whole::value> place(chunk, p, end);
        for (int i = 0; i < kPack; ++i) {
          const std::int64_t element = place.at + i;
          if (element < variable.begin || element >= variable.end || element >= end) continue;
          sums.weights += static_cast<double>(weight[p][i]) * static_cast<double>(weight[p][i]);
          sums.direction += static_cast<double>(direction[p][i]) * static_cast<double>(direction[p][i]);
        }
      }
      sums = {block_sum(sums.weights), block_sum(sums.direction)};
      const std::int64_t first = variable.begin > chunk ? variable.begin : chunk;
      if (threadIdx.x == 0) group.norms[variable.sum_of_chunk(first)] = sums;
    }
  });
}

__global__ void __launch_bounds__(kBlock) norm_ratios(Group group) {
  for (int v = static_cast<int>(blockIdx.x); v < group.normed_count; v += static_cast<int>(gridDim.x)) {
    const NormedSegment variable = group.normed[v];
    NormSums total;
    for (std::int64_t i = threadIdx.x; i < variable.sums(); i += blockDim.x) {
      total.weights += group.norms[variable.first_sum + i].weights;
      total.direction += group.norms[variable.first_sum + i].direction;
    }
    total = {block_sum(total.weights), block_sum(total.direction)};
    if (threadIdx.x == 0) group.ratios[v] = total.ratio();
  }
}

/// Updates each variable along its direction. A pack has elements of one variable, followed by padding.
template <class Rule>
__global__ void __launch_bounds__(kBlock)
    update_with_directions(Rule rule, Group group, const StepParams* step, Elements elements) {
  const RuleAtStep<Rule> now = rule_at(rule, group, *step);
  each_chunk(elements, [&]<class Whole>(Whole, std::int64_t chunk, std::int64_t end) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const Place<Whole::value> place(chunk, p, end);
      const int v = first_segment(group.normed, group.normed_count, place.at);
      if (place.at >= end || v == group.normed_count || place.at < group.normed[v].begin) continue;
      const float rate = now.rule.rate * group.ratios[v];
      float weight[kPack], direction[kPack];
      load(weight, group.master + place.at, place.count, place.whole);
      load(direction, group.accumulated + place.at, place.count, place.whole);
      for (int i = 0; i < kPack; ++i) {
        if (place.at + i < group.normed[v].end) weight[i] -= rate * direction[i];
      }
      average(now, group, place, weight);
      store(group.master + place.at, weight, place.count, place.whole);
      if (group.rounded != nullptr) store(group.rounded + place.at, weight, place.count, place.whole);
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

__global__ void __launch_bounds__(kBlock) regularization_sums(Group group, Elements elements) {
  each_chunk(elements, [&]<class Whole>(Whole, std::int64_t chunk, std::int64_t end) {
    const int segment = first_segment(group.segments, group.segment_count, chunk);
    double sum = 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const Place<Whole::value> place(chunk, p, end);
      float weight[kPack];
      load(weight, group.master + place.at, place.count, place.whole);
      each_regularized(group, segment, end, place,
                       [&](int i, const RegularizedSegment& one) { sum += regularization_of(weight[i], one); });
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) group.regularization[chunk / kUpdateChunk] = sum;
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
    round_for_wire(const float* gradient, float* residual, bfloat16* to, std::int64_t count) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    to[i] = scalar::compressed(gradient[i], residual[i]);
  }
}

__global__ void __launch_bounds__(kBlock) add_shard(scalar::CompressedSum sum) {
  for (std::int64_t i = grid_thread(); i < sum.count; i += grid_threads()) sum.add(i);
}

__global__ void __launch_bounds__(kBlock) add_own_shard(scalar::ShardSum sum) {
  for (std::int64_t i = grid_thread(); i < sum.count; i += grid_threads()) sum.add(i);
}

__global__ void __launch_bounds__(kBlock) expand_elements(scalar::Expansion expansion) {
  for (std::int64_t i = grid_thread(); i < expansion.count; i += grid_threads()) {
    expansion.to[i] = static_cast<float>(expansion.from[i]);
  }
}

__global__ void __launch_bounds__(kBlock)
    add_numbers(const double* numbers, std::int64_t count, double scale, bool first, double* total) {
  const double sum = scale * block_sum_of(numbers, count);
  if (threadIdx.x == 0) *total = first ? sum : *total + sum;
}

__global__ void __launch_bounds__(kBlock)
    add_rows(const double* numbers, std::int64_t rows, std::int64_t stride, std::int64_t count, double* to) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    double sum = numbers[i];
    for (std::int64_t row = 1; row < rows; ++row) sum += numbers[row * stride + i];
    to[i] = sum;
  }
}

__global__ void __launch_bounds__(kBlock)
    join_copies(const float* from, int copies, std::int64_t stride, bool mean, float* to, std::int64_t count) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    double sum = 0;
    for (int copy = 0; copy < copies; ++copy) sum += static_cast<double>(from[copy * stride + i]);
    to[i] = static_cast<float>(mean ? sum / static_cast<double>(copies) : sum);
  }
}

__global__ void clip_scale(const double* squares, double clip_norm, std::int64_t gradients, StepParams* params) {
  const double norm = sqrt(*squares) / static_cast<double>(gradients);
  const float factor = norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1.0f;
  params->scale = factor / static_cast<float>(gradients);
}

Group parameter(const UpdateGroupView& group) {
  Group parameter{group.regularized.data(),
                  static_cast<int>(group.regularized.size()),
                  group.traits,
                  group.master,
                  {},
                  group.accumulated,
                  group.regularization,
                  group.squares,
                  group.rounded,
                  group.average,
                  group.normed.data(),
                  static_cast<int>(group.normed.size()),
                  group.norms,
                  group.ratios};
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
    if constexpr (scalar::kReadsWholes<Rule>) {
      throw Error("a rule that reads whole variables updates with accumulated gradients alone");
    } else {
      launch(stream, blocks_of(elements), kBlock, sizeof(RuleAtStep<Rule>), update_with_sources<Rule>, functor,
             parameter(group), parameter(gradient), params, elements);
    }
  });
}

void accumulate(Stream& stream, const UpdateGroupView& group, const scalar::GradientSum& gradient, bool first,
                std::int64_t begin, std::int64_t end) {
  const Elements elements{begin, end};
  launch(stream, blocks_of(elements), kBlock, 0, accumulate_sources, parameter(group), parameter(gradient), first,
         elements);
}

void sum_regularization(Stream& stream, const UpdateGroupView& group, std::int64_t begin, std::int64_t end) {
  if (group.regularized.empty()) return;
  const Elements elements{begin, end};
  launch(stream, blocks_of(elements), kBlock, 0, regularization_sums, parameter(group), elements);
}

void measure(Stream& stream, const scalar::UpdateRule& rule, const UpdateGroupView& group, const StepParams* params,
             std::int64_t begin, std::int64_t end) {
  const Elements elements{begin, end};
  scalar::with_functor(rule, [&]<class Rule>(const Rule& functor) {
    if constexpr (scalar::kScalesByNorms<Rule>) {
      launch(stream, blocks_of(elements), kBlock, sizeof(RuleAtStep<Rule>), measure_directions<Rule>, functor,
             parameter(group), params, elements);
      launch(stream, blocks_for(static_cast<std::int64_t>(group.normed.size()), 1), kBlock, 0, norm_ratios,
             parameter(group));
    }
  });
}

void update_accumulated(Stream& stream, const scalar::UpdateRule& rule, const UpdateGroupView& group,
                        const StepParams* params, std::int64_t begin, std::int64_t end) {
  const Elements elements{begin, end};
  scalar::with_functor(rule, [&]<class Rule>(const Rule& functor) {
    const auto kernel = [] {
      if constexpr (scalar::kScalesByNorms<Rule>) {
        return update_with_directions<Rule>;
      } else {
        return update_with_accumulated<Rule>;
      }
    }();
    launch(stream, blocks_of(elements), kBlock, sizeof(RuleAtStep<Rule>), kernel, functor, parameter(group), params,
           elements);
  });
}

void sum_sources(Stream& stream, std::span<const GradientSource> sources, float* to, std::int64_t begin,
                 std::int64_t end) {
  const Elements elements{begin, end};
  launch(stream, blocks_of(elements), kBlock, 0, store_sum, parameter(scalar::GradientSum{sources}), to, elements);
}

void compress(Stream& stream, const float* gradient, float* residual, bfloat16* to, std::int64_t count) {
  launch(stream, blocks_for(count), kBlock, 0, round_for_wire, gradient, residual, to, count);
}

void add_compressed(Stream& stream, const scalar::CompressedSum& sum) {
  if (sum.count > 0) launch(stream, blocks_for(sum.count), kBlock, 0, add_shard, sum);
}

void add_shards(Stream& stream, const scalar::ShardSum& sum) {
  if (sum.count > 0) launch(stream, blocks_for(sum.count), kBlock, 0, add_own_shard, sum);
}

void expand(Stream& stream, const scalar::Expansion& expansion) {
  launch(stream, blocks_for(expansion.count), kBlock, 0, expand_elements, expansion);
}

void sum_numbers(Stream& stream, const double* numbers, std::int64_t count, double scale, bool first, double* total) {
  launch(stream, 1, kBlock, 0, add_numbers, numbers, count, scale, first, total);
}

void sum_rows(Stream& stream, const double* numbers, std::int64_t rows, std::int64_t stride, std::int64_t count,
              double* to) {
  launch(stream, blocks_for(count), kBlock, 0, add_rows, numbers, rows, stride, count, to);
}

void combine_copies(Stream& stream, const float* from, int copies, std::int64_t stride, bool mean, float* to,
                    std::int64_t count) {
  launch(stream, blocks_for(count), kBlock, 0, join_copies, from, copies, stride, mean, to, count);
}

void scale_to_norm(Stream& stream, const double* squares, double clip_norm, std::int64_t gradients,
                   StepParams* params) {
  launch(stream, 1, 1, 0, clip_scale, squares, clip_norm, gradients, params);
}

}  // namespace mirrortrain::cuda
