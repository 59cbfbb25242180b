#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "device/device.h"
#include "kernels/scalar/update_group.h"
#include "model/variable_update.h"
#include "strategy/topology.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// One of the memories among which the optimizer's state is divided.
struct StateShard {
  int rank = 0, ranks = 1;

  bool is_part() const { return ranks > 1; }
  /// Elements of a bucket are a multiple of this: its shards have equal lengths.
  std::int64_t grain() const;
};

/// The axes of the mesh along which places have parts of variables.
struct Division {
  bool model = false;
  bool data = false;  ///< in flat parts of what a place has otherwise, see ops::flat_part

  bool any() const { return model || data; }
  friend bool operator==(const Division&, const Division&) = default;
};

/// Sizes of a group's memory.
struct GroupMemory {
  std::vector<MeshIndex> places{{}};  ///< by replica that uses it
  int microbatches = 1;               ///< of a replica: so many indices on the axis `data`, whose gradients are added
  bool keeps_gradients = false;       ///< in addition to a step's, and the sums of their squares
  bool compresses = false;            ///< keeps the rounding errors of compressed gradients
  Communicator* adds_gradients = nullptr;  ///< the first replica's become the sum; null if none does
  StateShard shard;                        ///< of a shared group's slots, accumulated gradients and sums
};

/// Adjacent elements of a group whose gradients are summed together.
struct GroupBucket {
  std::int64_t first = 0, elements = 0;
};

/// Adjacent elements of a group that are updated in this memory: all of them, or this memory's shard of a bucket.
/// Numbers in `view` count from the first.
struct GroupPiece {
  std::int64_t first = 0, elements = 0;
  scalar::UpdateGroupView view;

  /// The number of sums of regularization and of squares.
  std::int64_t chunks() const { return (elements + scalar::kUpdateChunk - 1) / scalar::kUpdateChunk; }
};

/// Trainable variables with the same aggregation and update, flattened: values, gradients and optimizer slots are one
/// buffer each, and every variable has the same offset in all of them, so that one pass updates all. With an
/// aggregation, the replicas share values and slots, or those with the same part do if the variables are divided among
/// places; without one, each replica has its own. Padding between variables is always zero, and so is what smaller
/// parts lack of the first. If the state is sharded, each memory has slots and sums for its shard of every bucket
/// alone or, where the update reads whole variables, for those that it owns.
class VariableGroup {
 public:
  explicit VariableGroup(Aggregation aggregation, const VariableUpdate& update = {}, Division division = {},
                         bool has_sparse_gradients = false)
      : aggregation_(aggregation), update_(update), division_(division), has_sparse_gradients_(has_sparse_gradients) {}

  /// Adds one more variable; returns its first element. `elements`: of each part along `model`, the first ones the
  /// largest; of one that is whole there, the only number. Those whose gradients are never stored must come last.
  /// `is_owned`: of a group that has owners, whether this memory is the variable's.
  std::int64_t add(const std::vector<std::int64_t>& elements, float l1, float l2, bool stores_gradient,
                   bool is_owned = true);
  /// The next variable added begins a bucket, whose elements are a multiple of `grain`.
  void begin_bucket(std::int64_t grain);
  /// Divides larger buckets into parts of at most so many elements, once all variables are added: a large variable's
  /// gradient is not received at once.
  void limit_buckets(std::int64_t most);
  /// Allocates the device's memory, zeroed, after all variables are added.
  void allocate(const GroupMemory& memory, Device& device);

  Aggregation aggregation() const { return aggregation_; }
  const VariableUpdate& update() const { return update_; }
  bool shared() const { return aggregation_ != Aggregation::kNone; }
  const Division& division() const { return division_; }
  /// Whether replicas keep the rows of their gradients elsewhere (deferred_gradients.h): the memory for gradients is
  /// that of the sum alone, and only if the variables were added as ones that store it.
  bool has_sparse_gradients() const { return has_sparse_gradients_; }
  std::int64_t elements() const { return elements_; }
  /// Number of elements, from the first, whose gradients are stored.
  std::int64_t gradient_elements() const { return gradient_elements_; }
  int copies() const { return static_cast<int>(copies_.size()); }
  /// The copy that a replica uses.
  std::size_t copy_number(int replica) const { return copy_of_[static_cast<std::size_t>(replica)]; }
  /// The first replica that uses a copy.
  int first_replica(int copy) const;
  /// The replicas whose gradients a copy's is the sum of. Places of one replica have equal gradients of a whole
  /// variable.
  std::vector<int> summed_replicas(int copy) const;
  bool is_regularized() const { return !regularized_.empty(); }
  /// Of the elements whose gradients are stored, in ascending order.
  std::vector<GroupBucket> buckets() const;
  /// Whether each memory has but a shard of what lasts beside the values. Parts along `data` have no shards.
  bool is_sharded() const { return shard_.is_part() && shared() && !division_.data; }
  /// Whether the shards are whole variables, of which each memory updates those that it owns.
  bool has_owners() const { return is_sharded() && update_.reads_whole(); }
  /// Whether memories along the axis `data` have different parts of the state, or of the values too.
  bool has_parts_over_data() const { return is_sharded() || division_.data; }

  /// A replica's values.
  float* master(int replica) const { return copy(replica).values.as<float>(); }
  /// What is updated here of a replica's values, with its slots and sums, for the update kernels.
  std::span<const GroupPiece> pieces(int replica) const { return copy(replica).pieces; }
  /// The one piece of a group that is not sharded: all of it.
  const scalar::UpdateGroupView& view(int replica) const { return copy(replica).pieces.front().view; }
  /// A replica's gradient; of microbatches, their sum.
  float* gradient(int replica) const { return gradients_[row_of(replica)].as<float>(); }
  /// Where a replica's programs write it: microbatches to memory that they share, one after the other.
  float* written_gradient(int replica) const {
    return (microbatches_ == 1 ? gradients_ : written_)[row_of(replica)].as<float>();
  }

  /// The rounding errors of compressed gradients; null without compression.
  float* residual() const { return residual_.as<float>(); }

  /// A bfloat16 copy of a replica's values, created at the first call, which updates refresh if the kernels can.
  bfloat16* rounded(int replica);
  /// The one that was created; null if none was.
  bfloat16* rounded_copy(int replica) const { return copy(replica).rounded.as<bfloat16>(); }

  std::size_t bytes() const;

 private:
  struct Regularized {
    std::int64_t first;
    std::vector<std::int64_t> elements;  ///< of each part
    float l1, l2;
  };
  struct Copy {
    Buffer values, accumulated, regularization, squares, norms, ratios, rounded;
    std::vector<Buffer> slots, segments;  ///< segments: of each piece
    std::vector<GroupPiece> pieces;
  };
  std::vector<std::size_t> copies_of_places() const;
  std::size_t row_of(int replica) const {
    return has_sparse_gradients_ ? 0 : rows_of_[static_cast<std::size_t>(replica)];
  }
  std::vector<GroupPiece> own_pieces() const;
  std::vector<GroupPiece> owned_variables() const;
  void add_normed(const std::vector<GroupPiece>& pieces);
  void point_to_memory(Copy& copy, std::size_t part);
  const Copy& copy(int replica) const { return copies_[copy_number(replica)]; }

  Aggregation aggregation_;
  VariableUpdate update_;
  Division division_;
  bool has_sparse_gradients_;
  std::int64_t elements_ = 0, gradient_elements_ = 0;
  std::vector<std::int64_t> bucket_begins_;
  std::int64_t grain_ = 1;
  StateShard shard_;
  std::vector<Regularized> regularized_;
  std::vector<scalar::NormedSegment> variables_;  ///< all of them, without sums
  std::vector<bool> is_owned_;                    ///< by variable
  Buffer normed_;                                 ///< of variables that the update measures, on the device
  std::vector<std::size_t> normed_in_;            ///< how many of these are in each piece
  std::int64_t norm_sums_ = 0;                    ///< of all of them
  Device* device_ = nullptr;
  std::vector<MeshIndex> places_;     ///< by replica
  std::vector<std::size_t> copy_of_;  ///< by replica
  std::vector<std::size_t> rows_of_;  ///< by replica: of gradients_ and written_
  std::vector<Copy> copies_;
  int microbatches_ = 1;
  std::vector<Buffer> gradients_;  ///< by replica, or by microbatches that are added
  std::vector<Buffer> written_;    ///< by these
  Buffer residual_;                ///< only of a shared group
};

/// Every variable begins on its own cache line.
std::int64_t with_padding(std::int64_t elements);

}  // namespace mirrortrain
