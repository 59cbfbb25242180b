#include "cluster/mpi/session.h"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "base/error.h"
#include "cluster/address.h"
#include "cluster/reachable_host.h"

namespace mirrortrain::mpi {
namespace {

using Text = std::array<char, 320>;  ///< a host's name, a port and brackets

/// "Open MPI v4.1.4, package: ..." up to the first comma.
std::string library_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string name(text.data(), static_cast<std::size_t>(length));
  return name.substr(0, name.find_first_of(",\n"));
}

/// This process's index among those of its machine, and their number.
std::pair<int, int> place_on_machine() {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  std::pair<int, int> place;
  MPI_Comm_rank(machine, &place.first);
  MPI_Comm_size(machine, &place.second);
  MPI_Comm_free(&machine);
  return place;
}

/// A barrier with a timeout: whether every process reaches it in time.
bool all_come(double seconds) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return false;
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    int done = 0;
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

std::string why_no_mpi() { return ""; }

Session::Session() {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) throw Error("MPI was started before in this process, which it cannot be twice");
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (provided < MPI_THREAD_SERIALIZED) {
    throw Error(fmt::format("{} cannot be called by several threads in turn (MPI_THREAD_SERIALIZED); use one that can",
                            library_name()));
  }
}

std::shared_ptr<Session> Session::start(ClusterSpec& cluster, const Environment& environment) {
  std::shared_ptr<Session> session(new Session);
  const int expected = static_cast<int>(cluster.trainers().size());
  if (session->size_ != expected || session->rank_ != cluster.task.index) {
    throw UsageError(
        fmt::format("{} says that this is process {} of {}, but the MPI library of this executable, {}, sees process "
                    "{} of {}; start it with that library's own mpirun",
                    cluster.source, cluster.task.index, expected, library_name(), session->rank_, session->size_));
  }
  session->locate(cluster, environment);
  return session;
}

void Session::locate(ClusterSpec& cluster, const Environment& environment) const {
  const auto [number, on_machine] = place_on_machine();
  Text own{};
  // Errors are sent to all processes, so that none waits for this one.
  try {
    std::string host = environment("MIRRORTRAIN_HOST").value_or("");
    if (host.empty()) host = on_machine == size_ ? "127.0.0.1" : reachable_host();
    const auto base = number_in(environment, "MIRRORTRAIN_PORT", 1, 65536 - on_machine);
    const std::string text = Address{host, base ? static_cast<int>(*base) + number : free_port(host)}.text();
    if (const std::string error = address_error(text); !error.empty()) throw UsageError(error);
    text.copy(own.data(), own.size() - 1);
  } catch (const Error& error) {
    fmt::format_to_n(own.data(), own.size() - 1, "!{}", error.what());
  }
  std::vector<Text> all(static_cast<std::size_t>(size_));
  MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_CHAR, all.data(), static_cast<int>(own.size()), MPI_CHAR,
                MPI_COMM_WORLD);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i][0] == '!') throw UsageError(fmt::format("worker {}: {}", i, all[i].data() + 1));
    cluster.workers[i] = all[i].data();
  }
}

Session::~Session() {
  const bool failed = given_up_ || std::uncaught_exceptions() > 0;
  if (all_come(failed ? 2 : 10)) MPI_Finalize();
}

}  // namespace mirrortrain::mpi
