#pragma once

namespace mirrortrain {

/// Asks the scheduler for shorter but more frequent time slices for the calling thread if it shares a core: the same
/// total time, but a lane that others wait for is not delayed by another process for milliseconds. Needs Linux 6.12; no
/// effect on older ones.
void ask_for_short_slices();

}  // namespace mirrortrain
