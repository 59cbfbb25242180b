#include "collective/nccl/nccl_library.h"

#include <fmt/format.h>

#include <type_traits>

#include "base/error.h"
#include "device/cuda/shared_library.h"

namespace mirrortrain::nccl {
namespace {

constexpr int kOldest = 21900;  // ranks that are threads of one process can be aborted

Library open() {
  const cuda::SharedLibrary shared("libnccl.so.2");
  const auto load = [&](auto& function, const char* name) {
    function = shared.symbol<std::remove_reference_t<decltype(function)>>(name);
  };
  Library nccl{};
  load(nccl.get_version, "ncclGetVersion");
  load(nccl.get_error_string, "ncclGetErrorString");
  load(nccl.get_last_error, "ncclGetLastError");
  load(nccl.comm_init_all, "ncclCommInitAll");
  load(nccl.comm_destroy, "ncclCommDestroy");
  load(nccl.comm_abort, "ncclCommAbort");
  load(nccl.comm_get_async_error, "ncclCommGetAsyncError");
  load(nccl.group_start, "ncclGroupStart");
  load(nccl.group_end, "ncclGroupEnd");
  load(nccl.all_reduce, "ncclAllReduce");
  load(nccl.reduce_scatter, "ncclReduceScatter");
  load(nccl.reduce, "ncclReduce");
  load(nccl.all_gather, "ncclAllGather");
  load(nccl.broadcast, "ncclBroadcast");
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
