#pragma once

#include <algorithm>
#include <cstdint>

#include "base/host_device.h"
#include "base/shape.h"
#include "graph/ops/attention.h"

// The memory layout of attention, for all devices.
namespace mirrortrain::scalar {

struct AttentionShape {
  ops::AttentionAttributes op;
  std::int64_t rows, steps, sources, size, value_size;

  AttentionShape(const ops::AttentionAttributes& attributes, const Shape& query, const Shape& key, const Shape& value)
      : op(attributes),
        rows(query[0]),
        steps(query[1]),
        sources(key[1]),
        size(query[2] / op.heads),
        value_size(value[2] / op.heads) {}

  /// The index of the first number of a row's step and head in a tensor of so many steps and numbers per head.
  MIRRORTRAIN_HOST_DEVICE std::int64_t at(std::int64_t row, std::int64_t step, std::int64_t head, std::int64_t of_steps,
                                          std::int64_t width) const {
    return ((row * of_steps + step) * op.heads + head) * width;
  }
  /// The index of a step in tensors such as log_sums.
  MIRRORTRAIN_HOST_DEVICE std::int64_t of_step(std::int64_t row, std::int64_t head, std::int64_t step) const {
    return (row * op.heads + head) * steps + step;
  }
  /// The end of the source steps that a step sees.
  MIRRORTRAIN_HOST_DEVICE std::int64_t seen(std::int64_t step) const {
    const std::int64_t ahead = op.causal ? 1 : op.window;
    return ahead > 0 && step + ahead < sources ? step + ahead : sources;
  }
  /// The first of them, which is their end where it sees none.
  MIRRORTRAIN_HOST_DEVICE std::int64_t first_seen(std::int64_t step) const {
    const std::int64_t first = op.window > 0 ? step + 1 - op.window : 0;
    return first < 0 ? 0 : first < sources ? first : sources;
  }
  /// A weight's element for dropout.
  MIRRORTRAIN_HOST_DEVICE std::int64_t element(std::int64_t head, std::int64_t step, std::int64_t source) const {
    return ((op.first_head + head) * steps + step) * ((sources + 3) / 4 * 4) + source;
  }
};

/// Which source steps each step of a row sees, by the causal rule, the window and the masks of both, which may be null.
struct AttentionSight {
  /// The score of source steps that are not seen, among others that are.
  static constexpr float kHidden = -1e9f;

  AttentionShape a;
  const float *query, *value;  ///< of the row
  std::int64_t first = 0;      ///< source step that counts

  MIRRORTRAIN_HOST_DEVICE AttentionSight(const AttentionShape& shape, const float* query_mask, const float* value_mask,
                                         std::int64_t row)
      : a(shape),
        query(query_mask == nullptr ? nullptr : query_mask + row * a.steps),
        value(value_mask == nullptr ? nullptr : value_mask + row * a.sources) {
    while (value != nullptr && first < a.sources && value[first] == 0) ++first;
  }

  /// Whether steps may see other source steps than the first ones.
  MIRRORTRAIN_HOST_DEVICE bool is_masked() const { return query != nullptr || value != nullptr || a.op.window > 0; }
  /// Whether a step sees nothing. Its scores are then all equal.
  MIRRORTRAIN_HOST_DEVICE bool is_blind(std::int64_t step) const {
    if (query != nullptr && query[step] == 0) return true;
    const std::int64_t end = a.seen(step);
    std::int64_t source = a.first_seen(step);
    if (source < first) source = first;
    while (source < end && value != nullptr && value[source] == 0) ++source;
    return source >= end;
  }
  /// The weights of source steps from here on are zero.
  MIRRORTRAIN_HOST_DEVICE std::int64_t reach(std::int64_t step) const {
    if (!is_blind(step)) return a.seen(step);
    return a.op.blind_sees_all ? a.sources : 0;
  }
  /// Whether a step that is not blind does not see a source step before its reach.
  MIRRORTRAIN_HOST_DEVICE bool hides(std::int64_t step, std::int64_t source) const {
    return source < a.first_seen(step) || (value != nullptr && value[source] == 0);
  }
};

}  // namespace mirrortrain::scalar
