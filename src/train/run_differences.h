#pragma once

#include <span>
#include <vector>

#include "report/page/page.h"
#include "train/run_folder.h"

namespace mirrortrain {

/// The keys in which the runs' configurations differ, but for their names, with a value for each run: "-" where its
/// configuration has none, or cannot be read.
std::vector<report::Difference> configuration_differences(std::span<const RunFolder> runs);

}  // namespace mirrortrain
