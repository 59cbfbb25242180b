#pragma once

#include <memory>

#include "collective/communicator.h"

namespace mirrortrain {

/// A rank of a group whose other ranks do not exist: operations leave the elements as they are. For a run that is
/// built and looked at, not trained. `travels`: as that of the group in whose place it is.
std::unique_ptr<Communicator> make_unconnected_communicator(int rank, int size, bool travels = true);

}  // namespace mirrortrain
