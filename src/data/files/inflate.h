#pragma once

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/files/input.h"

namespace mirrortrain::data {

/// An Input that inflates gzip's bytes from another source, by zlib: any number of members, their checksums verified.
class InflateInput : public Input {
 public:
  /// Fills as much of `to` as available.
  using ReadCompressed = std::function<std::size_t(std::span<std::byte> to)>;

  InflateInput(std::string name, ReadCompressed read_compressed, std::uint64_t most_bytes);
  InflateInput(const InflateInput&) = delete;
  InflateInput& operator=(const InflateInput&) = delete;
  ~InflateInput() override;

  std::size_t read(std::span<std::byte> to) override;
  /// From now on `read` returns what it has, rather than waiting for more of the source, which may be a pipe.
  void return_at_once() { returns_at_once_ = true; }
  std::uint64_t most_bytes() const override { return most_bytes_; }
  bool is_compressed() const override { return true; }

 private:
  void refill();
  void begin_member();
  [[noreturn]] void fail(const char* reason) const;

  ReadCompressed read_compressed_;
  std::uint64_t most_bytes_;
  std::vector<std::byte> compressed_;
  z_stream stream_{};
  bool ended_ = false, is_between_members_ = false, returns_at_once_ = false;
  bool was_full_ = false;  ///< the memory for what was inflated, so that zlib may hold bytes back
};

}  // namespace mirrortrain::data
