#include "collective/gloo/connect_peers.h"

#include <fmt/format.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <mutex>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "collective/gloo/reach_peers.h"
#include "collective/gloo/slots.h"
#include "collective/gloo/small_message.h"

namespace mirrortrain {
namespace {

constexpr std::chrono::hours kNoLimit{24 * 365};
constexpr int kAttempts = 5;
constexpr std::chrono::seconds kConnect{10};

template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
  } catch (const Error&) {  // another task has failed
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Checks that the peer of each connection is the expected rank.
void greet(gloo::Context& context, const std::vector<int>& peers) {
  std::vector<int> ranks(peers.size(), -1);
  int own = context.rank;
  const auto to = context.createUnboundBuffer(&own, sizeof(int));
  const auto from = context.createUnboundBuffer(ranks.data(), ranks.size() * sizeof(int));
  for (std::size_t i = 0; i < peers.size(); ++i) {
    from->recv(peers[i], kGreetingSlot, i * sizeof(int), sizeof(int));
    to->send(peers[i], kGreetingSlot);
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    to->waitSend(kConnect);
    from->waitRecv(kConnect);
  }
  if (ranks != peers) throw std::runtime_error("another answers");
}

/// Never destroyed: an outside connection may hold the device until after the communicator is destroyed, and newer gloo
/// would then join the device's thread from that thread itself, which terminates the process.
std::shared_ptr<gloo::transport::Device> make_device(const std::string& host) {
  gloo::transport::tcp::attr attributes;
  attributes.hostname = host;
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  static auto* const devices = new std::vector<std::shared_ptr<gloo::transport::Device>>;
  static std::mutex devices_mutex;
  const std::scoped_lock lock(devices_mutex);
  devices->push_back(device);
  return device;
}

}  // namespace

std::chrono::milliseconds gloo_timeout(double seconds) {
  if (seconds <= 0) return kNoLimit;
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

std::vector<std::string> PeerContext::listen_for(const std::vector<int>& peers,
                                                 std::shared_ptr<gloo::transport::Device> device) {
  device_ = std::move(device);
  transportContext_ = device_->createContext(rank, size);
  transportContext_->setTimeout(getTimeout());
  std::vector<std::string> addresses;
  for (const int peer : peers) {
    const std::vector<char> address = transportContext_->createPair(peer)->address().bytes();
    addresses.emplace_back(address.begin(), address.end());
  }
  return addresses;
}

void PeerContext::connect(const std::vector<int>& peers, const std::vector<std::string>& addresses) {
  // All at once: one after the other, each rank would wait for a peer that waits for another one, around all ranks.
  std::vector<std::future<void>> connections;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    connections.push_back(std::async(std::launch::async, [this, peer = peers[i], &address = addresses[i]] {
      transportContext_->getPair(peer)->connect({address.begin(), address.end()});
    }));
  }
  for (auto& connection : connections) connection.wait();
  for (auto& connection : connections) connection.get();
}

std::vector<int> peers_by_doubling(int rank, int size) {
  std::set<int> peers;
  for (int step = 0; step < doubling_steps(size); ++step) {
    peers.insert((rank + (1 << step)) % size);
    peers.insert((rank + size - (1 << step)) % size);
  }
  return {peers.begin(), peers.end()};
}

std::vector<int> all_peers(int rank, int size) {
  std::vector<int> peers;
  for (int other = 0; other < size; ++other) {
    if (other != rank) peers.push_back(other);
  }
  return peers;
}

std::shared_ptr<gloo::Context> connect_peers(const std::string& name, const std::vector<int>& peers,
                                             const GlooOptions& options, const RendezvousStore& rendezvous) {
  const int rank = options.rank, size = options.size;
  const auto gather = [&](const std::string& key, std::span<const std::string> values) {
    return rendezvous.gather(name + "/" + key, rank, size, values);
  };
  // Exchanges the ranks' errors, empty if none; returns this rank's own, or the first of the others.
  const auto agree = [&](const std::string& key, const std::string& own) {
    const std::vector<std::string> errors = gather(key, {&own, 1});
    const auto first = std::ranges::find_if(errors, [](const std::string& error) { return !error.empty(); });
    return !own.empty() || first == errors.end() ? own : *first;
  };
  Descriptor reached = reach_peers(name, peers, options, rendezvous);
  const auto device = make_device(options.host);
  for (int attempt = 1;; ++attempt) {
    const std::string number = std::to_string(attempt);
    auto context = std::make_shared<PeerContext>(rank, size);
    context->setTimeout(kConnect);
    const std::vector<std::string> listening = context->listen_for(peers, device);
    std::vector<std::string> addresses(static_cast<std::size_t>(size)), theirs;
    for (std::size_t i = 0; i < peers.size(); ++i) addresses[static_cast<std::size_t>(peers[i])] = listening[i];
    // A barrier too, so that nothing below waits for a rank that starts late.
    const std::vector<std::string> all = gather("addresses/" + number, addresses);
    for (const int peer : peers) theirs.push_back(all[static_cast<std::size_t>(peer)]);
    reached.close();
    const std::string made = agree("made/" + number, error_of([&] { context->connect(peers, theirs); }));
    const std::string error =
        made.empty() ? agree("greeted/" + number, error_of([&] { greet(*context, peers); })) : made;
    context->setTimeout(gloo_timeout(options.timeout_seconds));
    if (error.empty()) return context;
    if (attempt == kAttempts) throw std::runtime_error(error);
  }
}

}  // namespace mirrortrain
