#pragma once

#include <nccl.h>

namespace mirrortrain::nccl {

/// NCCL's functions.
struct Library {
  decltype(&::ncclGetVersion) get_version;
  decltype(&::ncclGetErrorString) get_error_string;
  decltype(&::ncclGetLastError) get_last_error;
  decltype(&::ncclCommInitAll) comm_init_all;
  decltype(&::ncclGetUniqueId) get_unique_id;
  decltype(&::ncclCommInitRank) comm_init_rank;
  decltype(&::ncclGroupStart) group_start;
  decltype(&::ncclGroupEnd) group_end;
  decltype(&::ncclCommDestroy) comm_destroy;
  decltype(&::ncclCommAbort) comm_abort;
  decltype(&::ncclCommGetAsyncError) comm_get_async_error;
  decltype(&::ncclAllReduce) all_reduce;
  decltype(&::ncclAllGather) all_gather;
  decltype(&::ncclSend) send;
  decltype(&::ncclRecv) receive;
};

/// Loaded at the first call. Throws Error if there is no NCCL 2.19 or newer.
const Library& library();

}  // namespace mirrortrain::nccl
