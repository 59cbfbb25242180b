// Stubs that throw in a build without gloo.
#include <fmt/format.h>

#include "base/error.h"
#include "collective/gloo/gloo_communicator.h"

namespace mirrortrain {

std::unique_ptr<Communicator> make_gloo_communicator(const GlooOptions&, const RendezvousStore&, OperationWatch) {
  throw UsageError(fmt::format("this executable cannot add between CPUs of several workers: {}", why_no_gloo()));
}

std::string why_no_gloo() { return MIRRORTRAIN_GLOO_ABSENT; }

}  // namespace mirrortrain
