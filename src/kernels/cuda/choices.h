#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace mirrortrain::cuda {

/// Which of several ways to compute a problem is taken, by how long each takes. Remembered, so that equal problems are
/// measured once and computed the same way, to the same bits. For one lane.
class Choices {
 public:
  /// Milliseconds that a candidate takes; nothing where it does not run.
  using Measure = std::function<std::optional<double>(std::size_t candidate)>;

  /// The fastest of `candidates`, at least one, from 0; the earlier of those that are equally fast. 0 where none runs,
  /// and, without measuring, where there is one. `problem` says what is computed: for an equal one the answer is what
  /// it was before.
  std::size_t choose(const std::string& problem, std::size_t candidates, const Measure& measure);

  /// What was chosen for a problem before.
  std::optional<std::size_t> known(const std::string& problem) const;

 private:
  std::map<std::string, std::size_t> known_;
};

}  // namespace mirrortrain::cuda
