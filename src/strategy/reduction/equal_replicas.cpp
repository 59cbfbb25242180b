#include "strategy/reduction/equal_replicas.h"

#include <algorithm>

#include "strategy/variables/equal_copies.h"

namespace mirrortrain {
namespace {

/// Two doubles represent 64 bits exactly.
constexpr int kHalf = 32;
double high_half(std::uint64_t bits) { return static_cast<double>(bits >> kHalf); }
double low_half(std::uint64_t bits) { return static_cast<double>(static_cast<std::uint32_t>(bits)); }
std::uint64_t whole(double high, double low) {
  return static_cast<std::uint64_t>(high) << kHalf | static_cast<std::uint64_t>(low);
}

/// A checksum of each variable; of no bytes if the replicas do not share the variable.
std::vector<std::uint64_t> checksums_of(const MemoryDomain& domain, Stream& stream) {
  std::vector<std::uint64_t> checksums;
  std::vector<std::byte> on_host;
  for (const DistributedVariable& variable : domain.variables.variables()) {
    std::span<const std::byte> bytes;
    if (!variable.policy().copies_can_differ()) bytes = {variable.data(0), variable.bytes()};
    if (!domain.place.on_host) {
      on_host.resize(bytes.size());
      stream.copy(on_host.data(), bytes.data(), bytes.size());
      stream.synchronize();
      bytes = on_host;
    }
    checksums.push_back(checksum(bytes));
  }
  return checksums;
}

}  // namespace

/// Compares all variables at once, and one by one only if something differs.
std::string differing_replicas(const RunVariables& run, std::span<Stream* const> streams, const Workers& workers) {
  std::map<int, std::vector<std::uint64_t>> checksums;  // by replica of this process
  for (const auto& domain : run.domains()) {
    Stream& stream = *streams[static_cast<std::size_t>(domain->place.lanes.front())];
    const std::vector<std::uint64_t> of_domain = checksums_of(*domain, stream);
    for (const int replica : domain->place.replicas) checksums[replica] = of_domain;
  }
  const auto difference = [&](std::size_t first, std::size_t count) {
    std::vector<double> halves;
    for (const auto& [replica, own] : checksums) {
      const std::uint64_t sum = checksum(std::as_bytes(std::span(own).subspan(first, count)));
      halves.insert(halves.end(), {high_half(sum), low_half(sum)});
    }
    const std::vector<double> all = workers.gather(halves);
    std::vector<std::uint64_t> of_replicas;
    for (std::size_t i = 0; i < all.size(); i += 2) of_replicas.push_back(whole(all[i], all[i + 1]));
    return differing_replicas_text(of_replicas);
  };
  const std::vector<DistributedVariable>& variables = run.domains()[0]->variables.variables();
  if (difference(0, variables.size()).empty()) return "";
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (const std::string text = difference(i, 1); !text.empty()) return variables[i].name() + ": " + text;
  }
  return "";
}

}  // namespace mirrortrain
