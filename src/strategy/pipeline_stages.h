#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "config/errors.h"
#include "model/model.h"
#include "strategy/pipeline_options.h"

namespace mirrortrain {

/// The stage of each layer, by its name.
std::map<std::string, int> stages_of_layers(const PipelineOptions& options, const Model& model);

/// How a list, of a program's steps or a graph's nodes, is divided among the stages: each has one run of it forward and
/// one backward.
class StageRanges {
 public:
  StageRanges() = default;
  /// `stages`: of each item, or -1 where any may have it. Any division computes the same.
  StageRanges(const std::vector<int>& stages, int count, bool trains);

  struct Range {
    std::size_t first = 0, last = 0;
    bool has(std::size_t item) const { return first <= item && item < last; }
  };
  Range of(int stage, bool backward) const {
    return (backward ? backward_ : forward_)[static_cast<std::size_t>(stage)];
  }
  /// Replaces every position by what `position` gives for it.
  template <class Position>
  StageRanges at(const Position& position) const {
    StageRanges moved = *this;
    for (auto* ranges : {&moved.forward_, &moved.backward_}) {
      for (auto& [first, last] : *ranges) {
        first = position(first);
        last = position(last);
      }
    }
    return moved;
  }

 private:
  std::vector<Range> forward_, backward_;
};

/// Adds errors for stages that name no layer, have none or are out of order, and for what a pipeline cannot compute in
/// microbatches.
void check_pipeline(const PipelineOptions& options, const Model& model, config::Errors& errors);

}  // namespace mirrortrain
