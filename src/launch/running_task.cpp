#include "launch/running_task.h"

#include <unistd.h>

#include <array>
#include <string_view>

namespace mirrortrain::launch {
namespace {

template <class Take>
bool read_some(Descriptor& from, const Take& take) {
  std::array<char, 1 << 16> bytes;
  if (!from.is_open()) return false;
  const ssize_t count = ::read(from.get(), bytes.data(), bytes.size());
  if (count > 0) take(std::string_view(bytes.data(), static_cast<std::size_t>(count)));
  if (count == 0) from.close();
  return count > 0;
}

}  // namespace

bool RunningTask::read_out() {
  return read_some(process_.out, [this](std::string_view bytes) {
    wrote_ = std::chrono::steady_clock::now();
    lines_.take_out(bytes);
  });
}

bool RunningTask::read_err() {
  return read_some(process_.err, [this](std::string_view bytes) {
    wrote_ = std::chrono::steady_clock::now();
    lines_.take_err(bytes);
  });
}

std::optional<int> RunningTask::take_status() {
  const std::optional<int> status = process_.take_status();
  if (!status) return std::nullopt;
  // Does not read to the pipes' end: remaining descendants of the task may hold them open.
  while (read_out()) {
  }
  while (read_err()) {
  }
  lines_.finish();
  has_ended_ = true;
  return status;
}

Failure RunningTask::failure(int status) const {
  return {name(), command_.task.text(), status, !command_.host.empty(), {lines_.last().begin(), lines_.last().end()}};
}

}  // namespace mirrortrain::launch
