#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain::cuda {

/// How two GPUs of this machine reach each other's memory: not at all (copies go through the host), over PCIe, over
/// NVLink.
enum class Link : std::uint8_t { kThroughHost, kPcie, kNvlink };

/// A visible GPU (CUDA_VISIBLE_DEVICES applies); the index in Gpus::gpus is K of `cuda:K`.
struct Gpu {
  std::string name;              ///< "NVIDIA H200"
  std::size_t memory_bytes = 0;  ///< total, not free
  int major = 0, minor = 0;      ///< compute capability
  std::string pci_bus_id;        ///< "0000:3b:00.0"
  std::vector<Link> links;       ///< to each visible GPU; its own entry is meaningless
};

struct Gpus {
  std::vector<Gpu> gpus;
  std::string why_none;  ///< where `gpus` is empty: "no GPU: no NVIDIA driver is installed"
};

/// Queries the driver at the first call. Never throws: a machine whose GPUs cannot be used has none, with the reason in
/// why_none.
Gpus visible_gpus();

/// Lets each of these GPUs copy directly from the others' memory if the machine supports it; otherwise copies go
/// through the host.
void enable_peer_access(std::span<const int> gpus);

/// One line per GPU, as `mirrortrain devices` prints it: "NVIDIA H200, 139.8 GiB, compute capability 9.0, NVLink to
/// cuda:1".
std::string describe(const Gpus& gpus, std::size_t index);

/// Whether code compiled for `architectures` ("75,80,90a", as CMake calls them) runs on a GPU of this compute
/// capability: 80 includes PTX, which later GPUs compile, 80-real runs on 8.x from 8.0, 90a only on 9.0, 100f on 10.x.
bool runs_on(std::string_view architectures, int major, int minor);

}  // namespace mirrortrain::cuda
