#pragma once

namespace mirrortrain {

/// Whether a lane's thread hangs that nobody waits for any more (see LaneTeam::run): it may yet write to the strategy's
/// memory, so the process has to end without freeing it.
bool lane_is_left_behind();

}  // namespace mirrortrain
