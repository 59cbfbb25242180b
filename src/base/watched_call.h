#pragma once

#include <functional>

namespace mirrortrain {

/// Calls `work`, which may never return, on a thread of its own; returns, or throws, when it does. Meanwhile calls
/// `check` every few milliseconds. Where that throws, so does this at once, and leaves the thread behind: `work` owns
/// all that it uses. Throws Error where the system gives no more threads.
void call_watched(std::function<void()> work, const std::function<void()>& check);

}  // namespace mirrortrain
