#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace mirrortrain::data {

/// Gives `take` all numbers, some at a time; in the same order whenever it is called.
using PassNumbers = std::function<void(const std::function<void(std::span<const float>)>& take)>;

/// The numbers at these places, which ascend, of all in ascending order. Passes over them three times instead of
/// holding them. None may be a NaN.
std::vector<float> select_ranks(const PassNumbers& pass, const std::vector<std::size_t>& ranks);

}  // namespace mirrortrain::data
