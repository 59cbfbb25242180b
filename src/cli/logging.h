#pragma once

namespace mirrortrain::cli {

/// Messages go to stderr.
void set_up_logging();

}  // namespace mirrortrain::cli
