#pragma once

#include <span>
#include <vector>

#include "report/page/page.h"
#include "train/checkpoint/run_folder.h"

namespace mirrortrain {

/// The keys in which the runs' configurations differ, except for their names, with a value for each run: "-" if its
/// configuration has none, or cannot be read. A part that only some have (a layer, a section, an optimizer's option) is
/// one entry, with the keys that differ from their defaults; options left at their defaults are omitted.
std::vector<report::Difference> configuration_differences(std::span<const RunFolder> runs);

}  // namespace mirrortrain
