#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain {

/// SLURM's short form of host names: "node[01-03,7],other" is node01, node02, node03, node7, other; several brackets in
/// one name are combined. Throws UsageError, beginning with `variable`, for invalid texts.
std::vector<std::string> expand_host_list(std::string_view text, const std::string& variable);

/// SLURM's short form of numbers, one for each node: "2(x3),1" is 2, 2, 2, 1. Throws like expand_host_list.
std::vector<int> expand_counts(std::string_view text, const std::string& variable);

}  // namespace mirrortrain
