#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "kernels/copy_kernels.h"
#include "strategy/variables/memory_domain.h"

namespace mirrortrain {

/// The values that evaluation reads of variables whose copies can differ (VariableStore::evaluation_copy), made on the
/// devices from the replicas' copies: of those variables of which this process has all copies.
class EvaluationCopies {
 public:
  /// `devices`: by domain. All but `mesh` must outlive it. Makes none where the devices have no CopyKernels. Throws
  /// Error if a device has too little memory.
  EvaluationCopies(const Model& model, const Mesh& mesh, std::span<const std::unique_ptr<MemoryDomain>> domains,
                   std::span<Device* const> devices);

  /// Whether update() makes the variable's.
  bool makes(std::size_t variable) const { return made_.contains(variable); }

  /// `streams`: by domain, with no work in flight. Each waits for the others' results on its device, and the host once
  /// for each when all is enqueued.
  void update(std::span<Stream* const> streams);

  /// What it takes of a domain's memory.
  std::size_t bytes(std::size_t domain) const;

 private:
  /// Of a replica: its domain, and its number there.
  struct At {
    std::size_t domain;
    int replica;
  };
  struct Copy {
    std::size_t domain;  ///< of the destination
    float* to;
    const float* from;
    std::size_t bytes;
  };
  struct Sum {
    std::size_t domain;
    const float* copies;
    int count;
    std::int64_t stride;
    bool mean;
    float* to;
    std::int64_t elements;
  };

  std::optional<At> find(const MeshIndex& place) const;
  bool plan(std::size_t variable, const VariablePolicy& policy);
  const float* sum_of(std::size_t variable, int part, bool mean, const At& home, std::int64_t elements);

  const Model& model_;
  Mesh mesh_;
  std::span<const std::unique_ptr<MemoryDomain>> domains_;
  std::vector<Device*> devices_;
  const CopyKernels* kernels_;
  std::set<std::size_t> made_;
  std::vector<Copy> gathers_, firsts_, results_;  ///< before sums; beside them; behind them
  std::vector<Sum> sums_;
  std::vector<std::pair<std::size_t, Buffer>> gathered_;  ///< and the domains where they are
  std::vector<std::unique_ptr<Event>> summed_;            ///< by domain
  std::set<std::pair<std::size_t, std::size_t>> waits_;   ///< domains, and those whose sums they copy
};

}  // namespace mirrortrain
