#include "collective/unconnected_communicator.h"

namespace mirrortrain {
namespace {

class UnconnectedCommunicator : public Communicator {
 public:
  UnconnectedCommunicator(int rank, int size, bool travels) : rank_(rank), size_(size), travels_(travels) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  bool travels() const override { return travels_; }
  void all_reduce(Stream&, Elements) override {}
  void all_gather(Stream&, Elements) override {}
  void all_to_all(Stream&, Elements, std::byte*) override {}
  void transfer(Stream&, Elements, int) override {}
  void check() override {}
  void synchronize(Stream& stream) override { stream.synchronize(); }
  void abort(const std::string&) override {}

 private:
  const int rank_, size_;
  const bool travels_;
};

}  // namespace

std::unique_ptr<Communicator> make_unconnected_communicator(int rank, int size, bool travels) {
  return std::make_unique<UnconnectedCommunicator>(rank, size, travels);
}

}  // namespace mirrortrain
