#pragma once

#include <vector>

#include "bench/plan/exchange.h"
#include "collective/communicator.h"

namespace mirrortrain::plan {

/// Rank 0 of a group whose other ranks do not exist: notes what it is asked to exchange and leaves the elements as they
/// are, in no time. A worker's steps over it take as long as they would over a network that is infinitely fast.
class ExchangeRecorder : public Communicator {
 public:
  explicit ExchangeRecorder(int size) : size_(size) {}

  int rank() const override { return 0; }
  int size() const override { return size_; }
  void all_reduce(Stream&, Elements elements) override;
  void all_gather(Stream&, Elements elements) override;
  /// Gradients that are compressed: an all_gather of what is called the same completes their all_reduce.
  void all_to_all(Stream&, Elements elements, std::byte* received) override;
  void check() override {}
  void synchronize(Stream& stream) override { stream.synchronize(); }
  void abort(const std::string&) override {}

  /// Forgets everything so far.
  void clear() { exchanges_.clear(); }
  /// What was exchanged since, each once, in the order of its first time; `per_step` is how often in `steps` steps,
  /// divided by them.
  std::vector<Exchange> exchanges(double steps) const;

 private:
  void note(Exchange::Kind kind, const Elements& elements, double bytes);

  int size_;
  std::string_view completes_;       ///< what the next all_gather does
  std::vector<Exchange> exchanges_;  ///< per_step counts
};

}  // namespace mirrortrain::plan
