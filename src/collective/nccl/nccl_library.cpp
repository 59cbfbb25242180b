#include "collective/nccl/nccl_library.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "device/cuda/shared_library.h"

namespace mirrortrain::nccl {
namespace {

constexpr int kOldest = 21900;  // ranks that are threads of one process can be aborted

/// Excludes what has switches add, in no fixed order, so that runs would not be bitwise reproducible: NVLS within a
/// machine, and between machines NVLSTree and CollNet. NCCL reads it when it creates its first ranks; a user's own
/// setting is kept.
void leave_sums_to_gpus() { setenv("NCCL_ALGO", "^NVLS,NVLSTree,CollnetDirect,CollnetChain", 0); }

Library open() {
  leave_sums_to_gpus();
  const cuda::SharedLibrary shared("libnccl.so.2");
  Library nccl{};
  shared.load(nccl.get_version, "ncclGetVersion");
  shared.load(nccl.get_error_string, "ncclGetErrorString");
  shared.load(nccl.get_last_error, "ncclGetLastError");
  shared.load(nccl.comm_init_all, "ncclCommInitAll");
  shared.load(nccl.get_unique_id, "ncclGetUniqueId");
  shared.load(nccl.comm_init_rank, "ncclCommInitRank");
  shared.load(nccl.group_start, "ncclGroupStart");
  shared.load(nccl.group_end, "ncclGroupEnd");
  shared.load(nccl.comm_destroy, "ncclCommDestroy");
  shared.load(nccl.comm_abort, "ncclCommAbort");
  shared.load(nccl.comm_get_async_error, "ncclCommGetAsyncError");
  shared.load(nccl.all_reduce, "ncclAllReduce");
  shared.load(nccl.all_gather, "ncclAllGather");
  shared.load(nccl.send, "ncclSend");
  shared.load(nccl.receive, "ncclRecv");
  int version = 0;
  if (nccl.get_version(&version) != ncclSuccess || version < kOldest) {
    throw Error(fmt::format("NCCL {}.{} was found, 2.19 or newer is needed", version / 10000, version / 100 % 100));
  }
  return nccl;
}

}  // namespace

const Library& library() {
  static const Library nccl = open();
  return nccl;
}

}  // namespace mirrortrain::nccl
