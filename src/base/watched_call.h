#pragma once

#include <functional>

namespace mirrortrain {

/// Calls `work`, which may never return, on its own thread; returns or throws when `work` does. Meanwhile calls `check`
/// every few milliseconds. If `check` throws, this function rethrows at once and leaves the thread running, so `work`
/// must own everything that it uses. Throws Error if the system cannot create the thread.
void call_watched(std::function<void()> work, const std::function<void()>& check);

}  // namespace mirrortrain
