#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/all_reduce_timer.h"
#include "device/device.h"

namespace mirrortrain {

/// After nccl-tests: algbw = size / time, busbw = algbw x a factor, both in GB/s.
struct AllReduceFigures {
  double time_us = 0;  ///< the median over the repetitions of the slowest rank's time
  double algbw = 0, busbw = 0;
  std::uint64_t wrong = 0;  ///< elements, over all ranks and repetitions
};

/// One algorithm at one size, in place; on GPUs out of place, too.
struct AllReduceResult : AllReduceFigures {
  std::string algorithm;
  std::uint64_t size = 0;  ///< bytes on each rank
  std::uint64_t count = 0;
  std::string type = "float";
  std::optional<AllReduceFigures> out_of_place;
};

AllReduceFigures figures_of(const AllReduceTiming& timing, std::size_t count, double busbw_factor);

/// Says what is measured: sums over ranks on `devices`, and that they are checked.
void print_ranks(std::FILE* out, std::span<Device* const> devices, bool in_place_alone);
void print_checked(std::FILE* out);

/// Says what busbw is where ranks send to each other.
void print_busbw_of_ranks(std::FILE* out, std::size_t ranks);

/// "one_pass 1024 to 65536, ring 262144": the fastest algorithm of each size, neighbours with the same one taken
/// together.
std::string fastest_by_size(const std::vector<AllReduceResult>& results);

/// Prints results as rows, and what follows from them.
class AllReduceReport {
 public:
  /// Prints the columns' heads.
  AllReduceReport(std::FILE* out, bool out_of_place);

  /// Prints its row at once.
  void add(const std::string& algorithm, std::size_t count, const AllReduceFigures& in_place,
           const std::optional<AllReduceFigures>& out_of_place = std::nullopt);
  /// Prints the fastest algorithms, the totals where the sizes are those of `packs`, and writes `json` where there is
  /// one. Throws Error where an element was wrong.
  void finish(bool packs, const std::optional<std::filesystem::path>& json) const;
  const std::vector<AllReduceResult>& results() const { return results_; }

 private:
  std::FILE* const out_;
  const bool out_of_place_;
  std::vector<AllReduceResult> results_;
};

}  // namespace mirrortrain
