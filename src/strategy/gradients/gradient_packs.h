#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "strategy/gradients/packs.h"

namespace mirrortrain {

/// A store's packs in the order in which backward fills them.
class GradientPacks {
 public:
  GradientPacks(const VariableStore& variables, std::uint64_t bytes_per_pack);

  /// Puts the packs in the order in which they get full. `complete_after(variable)`: after how many steps of the
  /// training program a variable's gradient is complete.
  void order(const std::function<std::size_t(std::size_t variable)>& complete_after);

  std::size_t size() const { return packs_.size(); }
  const Pack& operator[](std::size_t index) const { return packs_[index].pack; }
  /// After how many steps of the training program the pack is full.
  std::size_t full_after(std::size_t index) const { return packs_[index].full_after; }

  /// "pack 2 of 3, gradients of dense/kernel to conv/bias", for errors. Stays where it is once in order.
  const std::string& name(std::size_t index) const { return packs_[index].name; }

  Aggregation aggregation(std::size_t index) const { return packs_[index].aggregation; }
  /// Each replica's gradients of a pack.
  std::span<std::byte* const> data(std::size_t index) const { return packs_[index].data; }
  float* gradient(std::size_t index, int replica) const {
    return reinterpret_cast<float*>(packs_[index].data[static_cast<std::size_t>(replica)]);
  }

 private:
  struct Member {
    Pack pack;
    Aggregation aggregation = Aggregation::kMean;
    std::vector<std::byte*> data;  ///< by replica
    std::size_t full_after = 0;
    std::string variables, name;
  };
  void name_members();

  std::vector<Member> packs_;
};

}  // namespace mirrortrain
