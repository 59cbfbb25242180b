#pragma once

#include <vector>

namespace mirrortrain {

/// The cores that this process may run on, ascending, as of the first call, before any thread is pinned. Unlike
/// std::thread::hardware_concurrency, it heeds what taskset and schedulers of clusters leave a process.
std::vector<int> usable_cores();

}  // namespace mirrortrain
