#pragma once

#include <vector>

#include "bench/plan/worker_exchange.h"
#include "collective/communicator.h"

namespace mirrortrain::plan {

/// A rank of a group whose other ranks do not exist: records the requested exchanges and returns at once with the
/// elements unchanged. A worker's steps with it take as long as with an infinitely fast network.
class ExchangeRecorder : public Communicator {
 public:
  ExchangeRecorder(int rank, int size, Along along) : rank_(rank), size_(size), along_(along) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(Stream&, Elements elements) override;
  void all_gather(Stream&, Elements elements) override;
  void all_to_all(Stream&, Elements elements, std::byte* received) override;
  void check() override {}
  void synchronize(Stream& stream) override { stream.synchronize(); }
  void abort(const std::string&) override {}

  /// Discards all records.
  void clear() { exchanges_.clear(); }
  /// The distinct exchanges since the last clear(), in order of first occurrence; `per_step` is the count in `steps`
  /// steps divided by `steps`. An all_to_all and an all_gather of one name are an all_reduce, of compressed gradients.
  std::vector<Exchange> exchanges(double steps) const;

 private:
  void note(Exchange::Kind kind, const Elements& elements, double bytes);

  int rank_, size_;
  Along along_;
  std::vector<Exchange> exchanges_;  ///< per_step counts
};

}  // namespace mirrortrain::plan
