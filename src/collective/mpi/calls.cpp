#include "collective/mpi/calls.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace mirrortrain::mpi {

void check_call(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(fmt::format("{} failed: {}", function, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

MPI_Comm own_communicator(Session& session, double timeout_seconds) {
  // On the heap, and leaked after a timeout: MPI writes to them while the call is pending.
  struct Pending {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  auto pending = std::make_unique<Pending>();
  {
    const std::lock_guard lock(session.calls());
    check_call(MPI_Comm_idup(MPI_COMM_WORLD, &pending->copy, &pending->request), "MPI_Comm_idup");
  }
  const bool done = wait(session, Clock::now(), timeout_seconds, [&] {
    int flag = 0;
    check_call(MPI_Test(&pending->request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return flag != 0;
  });
  if (!done) {
    static_cast<void>(pending.release());
    session.give_up();
    throw Error(fmt::format("the other workers did not make their MPI communicators within {} s", timeout_seconds));
  }
  const std::lock_guard lock(session.calls());
  check_call(MPI_Comm_set_errhandler(pending->copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return pending->copy;
}

}  // namespace mirrortrain::mpi
