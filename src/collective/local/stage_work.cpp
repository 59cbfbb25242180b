#include "collective/local/stage_work.h"

#include "collective/local/sum.h"

namespace mirrortrain {
namespace {

class SharedMemoryWork : public StageWork {
 public:
  void combine(AggregationMethod method, DType dtype, std::span<std::byte* const> terms, std::span<std::byte* const> to,
               Shard shard) const override {
    local::combine(method, dtype, terms, to, shard);
  }
  void copy(DType dtype, std::byte* to, const std::byte* from, Shard shard) const override {
    local::copy(dtype, to, from, shard);
  }
};

}  // namespace

const StageWork& shared_memory_work() {
  static const SharedMemoryWork work;
  return work;
}

}  // namespace mirrortrain
