// Stands in for NCCL in a build without it.
#include "base/error.h"
#include "collective/nccl/nccl_communicator.h"

namespace mirrortrain {

std::string why_no_nccl() { return "no NCCL in this executable: " MIRRORTRAIN_NCCL_ABSENT; }

cuda::LibraryState find_nccl() { return {"NCCL", "", why_no_nccl()}; }

std::vector<std::unique_ptr<Communicator>> make_nccl_communicators(std::span<const int>, double, const NcclWorld&) {
  throw Error(why_no_nccl());
}

std::string make_nccl_id() { throw Error(why_no_nccl()); }

}  // namespace mirrortrain
