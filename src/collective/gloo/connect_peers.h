#pragma once

#include <gloo/context.h>
#include <gloo/transport/device.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "collective/gloo/gloo_communicator.h"

namespace mirrortrain {

/// gloo's limit for `seconds`, where 0 is none: gloo does not support an infinite one.
std::chrono::milliseconds gloo_timeout(double seconds);

/// Connections of this rank to some of the others.
class PeerContext : public gloo::Context {
 public:
  using gloo::Context::Context;
  /// Listens for each of the ranks: their addresses here, by the order of `peers`.
  std::vector<std::string> listen_for(const std::vector<int>& peers, std::shared_ptr<gloo::transport::Device> device);
  /// Connects to each of them at the address that it has for this rank.
  void connect(const std::vector<int>& peers, const std::vector<std::string>& addresses);
};

/// The ranks to which a rank of many needs connections: those at the distances 1, 2, 4, ... in both directions, which
/// also are a ring. Ascending.
std::vector<int> peers_by_doubling(int rank, int size);
std::vector<int> all_peers(int rank, int size);

/// Connects this rank to its peers; all ranks call it at the same time, and each is a peer of its peers. `name`
/// distinguishes several such calls of a group. gloo accepts the first connection to a port that it has just opened for
/// a rank, even from a port scanner, so that the rank is refused or its connection closed: then all ranks start over
/// with other ports. Throws std::runtime_error if they do not reach each other, Error if the group has failed
/// meanwhile.
std::shared_ptr<gloo::Context> connect_peers(const std::string& name, const std::vector<int>& peers,
                                             const GlooOptions& options, const RendezvousStore& rendezvous);

}  // namespace mirrortrain
