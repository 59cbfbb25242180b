#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/scalar/weight_bounds.h"
#include "model/model.h"
#include "strategy/partitioner.h"

namespace mirrortrain {

/// A shard of a variable: whole rows of axis 0.
struct VariablePart {
  enum class Kind : std::uint8_t {
    kTrained,   ///< by the optimizer, with its slots
    kAssigned,  ///< by layers during training: moving statistics
    kConstant,  ///< frozen
  };
  std::size_t variable = 0;              ///< of the model
  std::int64_t first = 0, elements = 0;  ///< of the variable
  Kind kind = Kind::kTrained;
  scalar::UpdateTraits update;                  ///< of the variable
  std::optional<scalar::WeightBounds> norms{};  ///< of a whole variable with a constraint
};

/// The values that a message between a server and others has for each part.
enum class Content : std::uint8_t {
  kChanging,  ///< values that training changes. A push has their gradients, and the values that layers assign
  kValues,    ///< every value
  kState,     ///< every value, then the optimizer slots, one after the other
};

/// Placement of the variables: whole variables or their shards are assigned to the servers round-robin, in the model's
/// order, as in TensorFlow. Every task computes the same. A message has the elements of one server, or of all, one
/// after the other.
class Placement {
 public:
  /// `slots`: per weight: the update rule's, then the weights' average if any.
  Placement(const Model& model, const std::optional<Partitioner>& partitioner, int servers, int slots);

  int servers() const { return static_cast<int>(parts_.size()); }
  int slots() const { return slots_; }
  /// In the order of messages: trained, assigned, then constant parts.
  const std::vector<VariablePart>& parts(int server) const { return parts_[static_cast<std::size_t>(server)]; }

  /// The trained variables that are split into shards.
  std::vector<std::size_t> split() const;

  std::int64_t elements(int server, Content content) const;
  /// Of all servers.
  std::int64_t elements(Content content) const;

  /// A part, or one of its slots, in a message.
  struct Piece {
    const VariablePart* part = nullptr;
    int slot = -1;            ///< -1: the value
    std::int64_t offset = 0;  ///< in the message of this server
  };
  std::vector<Piece> pieces(int server, Content content) const;

  /// "ps 0: 3 shards, 1.2 MiB; ps 1: ...", for the log.
  std::string text() const;

 private:
  int slots_;
  std::vector<std::vector<VariablePart>> parts_;  ///< by server
};

}  // namespace mirrortrain
