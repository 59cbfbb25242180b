#pragma once

namespace mirrortrain {

/// From here on the scheduler gives the calling thread the processor sooner and for a shorter time at once, where it
/// shares a core: as much time as before, but a lane that others wait for is not behind another process for
/// milliseconds. Linux 6.12 and newer; others leave it as it is.
void ask_for_short_slices();

}  // namespace mirrortrain
