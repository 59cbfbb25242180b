#pragma once

#include <functional>
#include <thread>

#include "base/channel.h"

namespace mirrortrain::rpc {

/// A queue of messages that its own thread delivers in order, so that senders do not wait for a slow receiver.
template <class Message>
class Outbox {
 public:
  /// `deliver` returns whether more can be delivered.
  explicit Outbox(std::function<bool(const Message&)> deliver)
      : deliver_(std::move(deliver)), thread_([this] { run(); }) {}
  ~Outbox() { close(); }

  void send(const Message& message) { messages_.put(message); }
  /// Delivers the remaining messages and accepts no more.
  void close() {
    messages_.close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    while (const auto message = messages_.take()) {
      if (!deliver_(*message)) return messages_.abandon();
    }
  }

  const std::function<bool(const Message&)> deliver_;
  Channel<Message> messages_;
  std::thread thread_;  ///< last, as it uses the rest
};

}  // namespace mirrortrain::rpc
