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
  /// `devices`: by domain, of which the calling thread has entered the first. `kernels`: Backend::copy_kernels(); where
  /// it is null, none are made. All but `mesh` must outlive it. Throws Error if a device has too little memory.
  EvaluationCopies(const Model& model, const Mesh& mesh, std::span<const std::unique_ptr<MemoryDomain>> domains,
                   std::span<Device* const> devices, const CopyKernels* kernels);

  /// Whether update() makes the variable's.
  bool makes(std::size_t variable) const { return made_.contains(variable); }

  /// `streams`: by domain, with no work in flight. Each waits for the others' results on its device, and the host once
  /// for each when all is enqueued. The calling thread, which has entered the first device, is left with it. Throws
  /// Error if a device fails.
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
    std::vector<const float*> copies;  ///< wherever they are
    bool mean;
    float* to;
    std::int64_t elements;

    /// Between copies in the domain's buffer, in elements.
    std::int64_t stride() const;
    std::size_t bytes_of_buffer() const;
  };

  std::optional<At> find(const MeshIndex& place) const;
  bool plan(std::size_t variable, const VariablePolicy& policy);
  const float* sum_of(std::size_t variable, int part, bool mean, const At& home, std::int64_t elements);
  void enqueue(const std::vector<Copy>& copies, std::span<Stream* const> streams) const;
  void enqueue(const Sum& sum, Stream& stream) const;

  const Model& model_;
  Mesh mesh_;
  std::span<const std::unique_ptr<MemoryDomain>> domains_;
  std::vector<Device*> devices_;
  const CopyKernels* kernels_;
  std::set<std::size_t> made_;
  std::vector<Copy> firsts_, results_;  ///< beside sums; behind them
  std::vector<Sum> sums_;
  std::vector<Buffer> gathered_;                         ///< by domain: the copies of one sum after another
  std::vector<std::unique_ptr<Event>> summed_;           ///< by domain
  std::set<std::pair<std::size_t, std::size_t>> waits_;  ///< domains, and those whose sums they copy
};

}  // namespace mirrortrain
