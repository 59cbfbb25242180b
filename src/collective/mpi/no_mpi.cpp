// Stands in for MPI in a build without it.
#include "base/error.h"
#include "collective/mpi/mpi_communicator.h"

namespace mirrortrain {

std::unique_ptr<Communicator> make_mpi_communicator(std::shared_ptr<mpi::Session>, double, OperationWatch,
                                                    std::vector<int>) {
  throw UsageError(mpi::why_no_mpi());
}

}  // namespace mirrortrain
