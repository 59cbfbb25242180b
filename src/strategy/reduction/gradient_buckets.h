#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/scalar/compress.h"
#include "strategy/strategy_options.h"
#include "strategy/variables/variable_store.h"

namespace mirrortrain {

/// A bucket that is sent to other domains as bfloat16: rank r adds shard r of every rank's bucket and distributes the
/// sum. The shards have equal length, zero-padded after the last gradients.
struct CompressedBucket {
  float* residual = nullptr;  ///< rounding errors of the bucket's gradients
  std::span<bfloat16> sent, received;
  scalar::CompressedSum sum;    ///< of this rank's shard
  scalar::Expansion expansion;  ///< into the gradients of the domain's first replica
};

/// A bucket of which each rank adds its own shard alone, because no other is updated there.
struct ScatteredBucket {
  std::span<float> received;  ///< every rank's part of this rank's shard
  scalar::ShardSum sum;       ///< into the gradients of the domain's first replica
};

/// Gradients that are reduced over the replicas together: adjacent in a group of variables, in one memory domain.
struct GradientBucket {
  std::vector<std::byte*> gradients;  ///< float32, of `replicas`
  std::vector<int> replicas;          ///< of the domain, whose gradients are added
  std::int64_t elements = 0;
  std::string name;          ///< "bucket 2 of 3, gradients of dense/kernel to conv/bias", for errors
  std::string weights_name;  ///< "weights of dense/kernel to conv/bias"

  std::optional<CompressedBucket> compressed;  ///< see compress_buckets
  std::optional<ScatteredBucket> scattered;    ///< see scatter_buckets

  Aggregation aggregation = Aggregation::kMean;
  bool has_owners = false;             ///< see VariableGroup: each memory gets the whole sum
  int group = 0;                       ///< of the store
  std::int64_t begin = 0;              ///< its first element there
  std::vector<std::size_t> variables;  ///< whose gradients it contains
  std::size_t full_after = 0;          ///< number of kernels of the training program
  std::size_t read_after = 0;          ///< the same, before the first that reads one of the variables

  float* gradient(std::size_t source) const { return reinterpret_cast<float*>(gradients[source]); }
};

/// Whether an operation's name is a bucket's.
inline bool names_bucket(std::string_view name) { return name.starts_with("bucket "); }

/// The sizes in the options; by default as in PyTorch's DistributedDataParallel: buckets large enough for a link's full
/// speed, except for a small first one, so that communication begins soon after backward.
BucketBytes bucket_bytes(const CommunicationOptions& options);

/// The gradients of the store's shared groups, in reverse order of creation, as backward computes them; those of each
/// part of divided ones by themselves.
std::vector<GradientBucket> make_buckets(const VariableStore& variables);

/// The masters of a bucket's variables, which its copy of them has.
std::span<float> weights_of(const GradientBucket& bucket, const VariableStore& variables);

/// Compresses the buckets of `rank` among `ranks` memories. Returns the memory to which they keep pointers. `variables`
/// must have residuals.
Buffer compress_buckets(std::vector<GradientBucket>& buckets, const VariableStore& variables, int rank, int ranks,
                        Device& device);

/// Has `rank` among `ranks` memories add its own shards of the buckets alone, but for those that have owners. Returns
/// the memory to which they keep pointers, which they use one after the other.
Buffer scatter_buckets(std::vector<GradientBucket>& buckets, int rank, int ranks, Device& device);

/// When a training program uses a variable, in kernels.
struct VariableUse {
  std::size_t read_after = 0;      ///< before the first that reads it
  std::size_t complete_after = 0;  ///< until its gradient is complete
};

/// Sorts the buckets by when they are full, and names them. `use_of`: of a variable.
void order_buckets(std::vector<GradientBucket>& buckets, const VariableStore& variables,
                   const std::function<VariableUse(std::size_t variable)>& use_of);

}  // namespace mirrortrain
