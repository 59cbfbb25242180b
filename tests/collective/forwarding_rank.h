#pragma once

#include <string>

#include "collective/communicator.h"

namespace mirrortrain::testing {

/// A rank that does what another one does: what derives from it changes a part of that.
class ForwardingRank : public Communicator {
 public:
  /// `rank` must outlive it.
  explicit ForwardingRank(Communicator& rank) : rank_(rank) {}

  int rank() const override { return rank_.rank(); }
  int size() const override { return rank_.size(); }
  void all_reduce(Stream& stream, Elements elements) override { rank_.all_reduce(stream, elements); }
  void all_gather(Stream& stream, Elements elements) override { rank_.all_gather(stream, elements); }
  void all_to_all(Stream& stream, Elements elements, std::byte* received) override {
    rank_.all_to_all(stream, elements, received);
  }
  void check() override { rank_.check(); }
  void synchronize(Stream& stream) override { rank_.synchronize(stream); }
  void abort(const std::string& reason) override { rank_.abort(reason); }

 protected:
  Communicator& rank_;
};

}  // namespace mirrortrain::testing
