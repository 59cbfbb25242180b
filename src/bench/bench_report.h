#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace mirrortrain {

/// One algorithm at one size, in place. After nccl-tests: algbw = size / time, busbw = algbw x a factor, both in GB/s.
struct AllReduceResult {
  std::string algorithm;
  std::uint64_t size = 0;  ///< bytes of each replica
  std::uint64_t count = 0;
  double time_us = 0;  ///< the median over the repetitions of the slowest lane's time
  double algbw = 0, busbw = 0;
  std::uint64_t wrong = 0;  ///< elements, over all lanes and repetitions
  std::string type = "float";
};

/// Prints what is measured.
void print_setup(std::FILE* out, std::span<Device* const> devices, int replicas);
/// Prints the definition of busbw: for ranks that send to each other, or for replicas in one memory.
void print_busbw(std::FILE* out, int n, bool in_one_memory);

/// "one_pass 1024 to 65536, ring 262144": the fastest algorithm of each size, with neighbouring sizes merged if it is
/// the same.
std::string fastest_by_size(const std::vector<AllReduceResult>& results);

/// Prints results as rows, and a summary.
class AllReduceReport {
 public:
  /// Prints the column headers.
  explicit AllReduceReport(std::FILE* out);

  /// Prints its row at once.
  void add(const std::string& algorithm, std::size_t count, double seconds, std::uint64_t wrong, double busbw_factor);
  /// Prints the fastest algorithms, and the totals if the sizes are those of gradient buckets, and writes `json` if
  /// given (to stdout for "-"). Throws Error if an element was wrong.
  void finish(bool buckets, const std::optional<std::filesystem::path>& json) const;
  const std::vector<AllReduceResult>& results() const { return results_; }

 private:
  using Row = std::array<std::string, 8>;
  void print_row(const Row& cells) const;

  std::FILE* const out_;
  std::vector<AllReduceResult> results_;
};

}  // namespace mirrortrain
