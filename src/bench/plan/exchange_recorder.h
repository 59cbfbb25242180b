#pragma once

#include <vector>

#include "bench/plan/worker_exchange.h"
#include "collective/communicator.h"

namespace mirrortrain::plan {

/// Rank 0 of a group whose other ranks do not exist: records the requested exchanges and returns at once with the
/// elements unchanged. A worker's steps with it take as long as with an infinitely fast network.
class ExchangeRecorder : public Communicator {
 public:
  explicit ExchangeRecorder(int size) : size_(size) {}

  int rank() const override { return 0; }
  int size() const override { return size_; }
  void all_reduce(Stream&, Elements elements) override;
  void all_gather(Stream&, Elements elements) override;
  /// For compressed gradients: an all_gather with the same name completes their all_reduce.
  void all_to_all(Stream&, Elements elements, std::byte* received) override;
  void check() override {}
  void synchronize(Stream& stream) override { stream.synchronize(); }
  void abort(const std::string&) override {}

  /// Discards all records.
  void clear() { exchanges_.clear(); }
  /// The distinct exchanges since the last clear(), in order of first occurrence; `per_step` is the count in `steps`
  /// steps divided by `steps`.
  std::vector<Exchange> exchanges(double steps) const;

 private:
  void note(Exchange::Kind kind, const Elements& elements, double bytes);

  int size_;
  std::string_view completes_;       ///< by the next all_gather
  std::vector<Exchange> exchanges_;  ///< per_step counts
};

}  // namespace mirrortrain::plan
