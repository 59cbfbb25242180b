#pragma once

#include <cstdint>
#include <vector>

#include "train/verify.h"

namespace mirrortrain {

/// verify_meshes on each number of replicas, of one place each.
inline Verification verify_replicas(const CheckedConfiguration& checked, const std::vector<int>& replicas,
                                    std::int64_t steps, const Hardware& hardware = this_hardware()) {
  std::vector<MeshToVerify> meshes;
  for (const int count : replicas) meshes.push_back({{count, 1}, &checked});
  return verify_meshes(checked, meshes, steps, hardware);
}

}  // namespace mirrortrain
