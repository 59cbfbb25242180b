#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace mirrortrain::cuda {

/// Selects the fastest of several algorithms for a problem by measuring. Choices are cached, so that equal problems are
/// measured once and computed by the same algorithm, bitwise equally. For one lane.
class Choices {
 public:
  /// Milliseconds of a candidate; nullopt if it cannot run.
  using Measure = std::function<std::optional<double>(std::size_t candidate)>;

  /// The fastest of `candidates`, at least one, from 0; the earlier of equally fast ones. 0 if none runs and, without
  /// measuring, if there is only one. `problem` identifies the computation: equal ones get the cached choice.
  std::size_t choose(const std::string& problem, std::size_t candidates, const Measure& measure);

  /// The cached choice for a problem.
  std::optional<std::size_t> known(const std::string& problem) const;

 private:
  std::map<std::string, std::size_t> known_;
};

}  // namespace mirrortrain::cuda
