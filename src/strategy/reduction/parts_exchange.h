#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/ops/collective.h"
#include "strategy/reduction/domain_collective.h"

namespace mirrortrain {

/// gather_parts or reduce_parts. Its memory is shared with others of a program that are not in use at the same time:
/// whole weights and their gradients are here only while layers compute with them.
///
/// gather_parts: the domain's places copy their parts of the weight to a table, of which there is one for each index on
/// the axis `model` here; those of other domains are gathered; all places read the table. reduce_parts: the gradients
/// of the domain's places are added up in their order, each domain receives every other's sums of its places' parts,
/// and each place's are added in the domains' order.
class PartsExchange : public DomainCollective {
 public:
  /// `graphs`: by index on the axis `model`. `others`: the domain's rank along `data`; null where it is alone. All must
  /// outlive it.
  PartsExchange(const ops::PlacedCollective& of, const StepKernels& kernels, std::span<const Graph* const> graphs,
                const PlacesHere& places, Communicator* others);

  void plan(std::size_t which, const Program& program, std::vector<BorrowedMemory>& memory) override;
  bool exchanges() const override { return others_ != nullptr; }
  bool is_shared() const override { return true; }
  Communicator* others() const { return others_; }
  void bind(int place, std::vector<std::byte*>& values) override;
  void run(std::int64_t examples, DomainLane& lane, GradientReducer* reducer) override;
  std::size_t bytes() const override { return 0; }

  /// Whether it gathers from other domains, which may be done ahead: when all lanes have copied their own parts.
  bool gathers_from_others() const { return gathers_ && others_ != nullptr; }
  /// The collective at which it is to begin, by number; before `plan`.
  void begin_at(std::size_t which) { begins_at_ = which; }
  void copy_own_parts(DomainLane& lane);
  void gather_others(Stream& stream);

 private:
  /// The tensor of places with one index on the axis `model`, in flat parts.
  struct Tensor {
    std::int64_t elements = 0, part = 0;
    std::byte* table = nullptr;  ///< of all parts: gathered, or received
    std::vector<int> places;     ///< of this domain; the first one's row has the sum of their gradients
  };
  /// What a place has.
  struct Own {
    std::byte* variable = nullptr;                ///< whose part is gathered
    std::byte* row = nullptr;                     ///< its gradient, then this domain's sum
    std::byte* result = nullptr;                  ///< the gradient of its part of the variable
    std::vector<scalar::GradientSource> sources;  ///< of the sum being computed
  };

  Tensor& tensor_of(int place) {
    return tensors_[static_cast<std::size_t>(places_.mesh.model_index(place) % places_.parts)];
  }
  std::size_t bytes_of(std::int64_t elements) const { return static_cast<std::size_t>(elements) * sizeof(float); }
  std::size_t table_bytes(const Tensor& tensor) const { return bytes_of(tensor.part * places_.mesh.data); }
  void gather(DomainLane& lane, GradientReducer* reducer);
  void reduce(std::int64_t examples, DomainLane& lane, GradientReducer* reducer);

  const StepKernels& kernels_;
  const PlacesHere& places_;
  Communicator* others_;
  const bool gathers_;
  const ValueId input_, output_;
  std::optional<std::size_t> begins_at_;
  const std::string name_;       ///< for errors
  std::vector<Tensor> tensors_;  ///< by index on the axis `model` here
  std::map<int, Own> own_;       ///< by place
};

}  // namespace mirrortrain
