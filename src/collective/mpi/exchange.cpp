#include "collective/mpi/exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "collective/mpi/calls.h"

namespace mirrortrain::mpi {
namespace {

// A tag is an operation's number, its round, and a hash of what it does.
constexpr int kOperations = 8, kRounds = 2, kBitsBeforeHash = 4;

/// A hash of everything that ranks must agree on, in `bits` bits.
int hash_of(const CollectiveCall& call, int bits) {
  std::uint64_t hash = call.elements.count;
  for (const auto more : {static_cast<std::uint64_t>(call.operation), static_cast<std::uint64_t>(call.elements.dtype),
                          static_cast<std::uint64_t>(call.from)}) {
    hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
  }
  return static_cast<int>(hash >> (64 - bits));
}

/// The number of a tag's bits left for the hash; at least 11.
int bits_of_hash(MPI_Comm communicator) {
  int* largest = nullptr;
  int is_set = 0, bits = 15;
  MPI_Comm_get_attr(communicator, MPI_TAG_UB, &largest, &is_set);
  while (is_set != 0 && bits < 30 && *largest >> bits > 1) ++bits;
  return bits - kBitsBeforeHash;
}

MPI_Datatype type_of(DType dtype) {
  switch (dtype) {
    case DType::kUint8: return MPI_UINT8_T;
    case DType::kBfloat16: return MPI_UINT16_T;  // which is only copied
    case DType::kFloat32: return MPI_FLOAT;
    case DType::kFloat64: return MPI_DOUBLE;
    case DType::kInt32: return MPI_INT32_T;
    case DType::kInt64: return MPI_INT64_T;
  }
  throw Error("unknown dtype");
}

}  // namespace

Exchange::Exchange(std::shared_ptr<Session> session, double timeout_seconds, std::vector<int> members)
    : session_(std::move(session)),
      timeout_seconds_(timeout_seconds),
      members_(std::move(members)),
      note_(session_, timeout_seconds),
      messages_(own_communicator(*session_, timeout_seconds)),
      hash_bits_(bits_of_hash(messages_)) {
  round_messages_.reserve(2 * members_.size());
  requests_.reserve(2 * members_.size());
}

Exchange::~Exchange() {
  if (failed()) return;  // the other ranks may not reach this, and messages may be in flight
  const std::lock_guard lock(session_->calls());
  MPI_Comm_free(&messages_);
}

void Exchange::begin(const CollectiveCall& call) {
  call_ = &call;
  type_ = type_of(call.elements.dtype);
  since_ = Clock::now();
  ++operations_;
  hash_ = hash_of(call, hash_bits_);
  round_ = 0;
}

/// Equal on both sides of a message if they are in the same operation, so that no other message is received: Open MPI
/// may write a message beyond the end of a shorter receive buffer.
int Exchange::tag() const {
  const int number = static_cast<int>(operations_ % kOperations);
  return ((number * kRounds + round_) << hash_bits_) | hash_;
}

void Exchange::add(int peer, std::size_t count, bool is_receipt) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(fmt::format("{}: more elements than a message of MPI holds; set strategy.communication.bytes_per_pack",
                            call_->text()));
  }
  round_messages_.push_back({peer, static_cast<int>(count), is_receipt});
  requests_.push_back(MPI_REQUEST_NULL);
}

void Exchange::send(int to, const std::byte* data, std::size_t count) {
  if (count == 0) return;
  to = members_[static_cast<std::size_t>(to)];
  add(to, count, false);
  const std::lock_guard lock(session_->calls());
  check_call(MPI_Isend(data, static_cast<int>(count), type_, to, tag(), messages_, &requests_.back()), "MPI_Isend");
}

void Exchange::receive(int from, std::byte* data, std::size_t count) {
  if (count == 0) return;
  from = members_[static_cast<std::size_t>(from)];
  add(from, count, true);
  const std::lock_guard lock(session_->calls());
  check_call(MPI_Irecv(data, static_cast<int>(count), type_, from, tag(), messages_, &requests_.back()), "MPI_Irecv");
}

void Exchange::finish() {
  try {
    std::uint64_t turn = 0;
    const bool done = wait(*session_, since_, timeout_seconds_, [&] {
      if (turn++ % 16 == 15) {
        look_for_note();
        look_for_stranger();
      }
      return failed() || all_done();
    });
    throw_if_failed();
    if (!done) throw Error(overdue());
  } catch (...) {
    drop_messages();
    throw;
  }
  round_messages_.clear();
  requests_.clear();
  ++round_;
}

bool Exchange::all_done() {
  int flag = 0;
  const auto count = static_cast<int>(requests_.size());
  check_call(MPI_Testall(count, requests_.data(), &flag, MPI_STATUSES_IGNORE), "MPI_Testall");
  return flag != 0;
}

/// Throws on a message of this round that belongs to another operation. Ranks that are ahead send messages of the next
/// round and of the next operation.
void Exchange::look_for_stranger() {
  int flag = 0;
  MPI_Status status;
  check_call(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, messages_, &flag, &status), "MPI_Iprobe");
  if (flag == 0 || status.MPI_TAG == tag() || status.MPI_TAG >> hash_bits_ != tag() >> hash_bits_) return;
  throw Error(fmt::format(
      "worker {} is in another operation than worker {}, which does {}; do both run the same configuration?",
      status.MPI_SOURCE, session_->rank(), call_->text()));
}

std::string Exchange::overdue() const {
  std::set<int> missing;
  for (std::size_t i = 0; i < round_messages_.size(); ++i) {
    int flag = 0;
    MPI_Request_get_status(requests_[i], &flag, MPI_STATUS_IGNORE);
    if (flag == 0) missing.insert(round_messages_[i].peer);
  }
  return fmt::format("{}: worker {} waited {} s for worker {}{}", call_->text(), session_->rank(), timeout_seconds_,
                     fmt::join(missing, ", "), round_ == 0 ? "" : ", which may wait for another");
}

/// Drops this round's messages. Sent messages cannot be canceled, and received ones may still be written.
void Exchange::drop_messages() {
  const std::lock_guard lock(session_->calls());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    if (round_messages_[i].is_receipt) MPI_Cancel(&requests_[i]);
    MPI_Request_free(&requests_[i]);
  }
  round_messages_.clear();
  requests_.clear();
}

/// Called with the lock of MPI calls held.
void Exchange::look_for_note() {
  if (const auto reason = note_.look()) learn(*reason);
}

void Exchange::learn(const std::string& reason) {
  const std::lock_guard lock(reason_mutex_);
  if (reason_.empty()) reason_ = reason;
  session_->give_up();
  failed_.store(true, std::memory_order_release);
}

void Exchange::fail(const std::string& reason) {
  if (failed()) return;
  learn(reason);
  note_.send(reason);
}

void Exchange::throw_if_failed() {
  if (!failed()) {
    const std::lock_guard lock(session_->calls());
    look_for_note();
  }
  if (!failed()) return;
  const std::lock_guard lock(reason_mutex_);
  throw Error(reason_);
}

}  // namespace mirrortrain::mpi
