#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collective/bench.h"
#include "collective/nccl/nccl_communicator.h"
#include "collective/peer/sum_on_stream.h"
#include "device/device.h"

namespace mirrortrain {

/// What adds on GPUs and across them; tests play it.
struct GpuCollectives {
  SumOnStream sum = sum_on_gpu;
  std::string (*why_no_nccl)() = mirrortrain::why_no_nccl;
  std::vector<std::unique_ptr<Communicator>> (*make_nccl)(std::span<const int>, double) = make_nccl_communicators;
};

/// As bench_all_reduce, over GPUs that are one rank each, out of place and in place: nccl, where it is there, and the
/// local algorithms by copies from GPU to GPU. One GPU is one rank, too.
std::vector<AllReduceResult> bench_gpus(const AllReduceBenchOptions& options, std::span<Device* const> gpus,
                                        std::FILE* out, const GpuCollectives& collectives = {});

/// Measures what two or more replicas on one GPU cost: their elements are summed in one pass over its memory.
std::vector<AllReduceResult> bench_replicas_on_gpu(const AllReduceBenchOptions& options, Device& gpu, int replicas,
                                                   std::FILE* out, const GpuCollectives& collectives = {});

}  // namespace mirrortrain
