#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  Shape shape;                           ///< the whole variable's
  Kind kind = Kind::kTrained;
  VariableUpdate update;                        ///< of the variable
  std::vector<std::int64_t> slots{};            ///< of a trained part: the elements of each of its slots
  std::optional<scalar::WeightBounds> norms{};  ///< of a whole variable with a constraint
  bool is_sparse = false;                       ///< whether its gradients are rows (deferred_gradients.h)

  std::int64_t row_elements() const { return shape.rank() == 0 ? elements : shape.elements() / shape[0]; }
  std::int64_t rows() const { return elements / row_elements(); }
};

/// Rows of a part with sparse gradients: their numbers there, ascending, and their values or gradients.
struct PartRows {
  std::size_t part = 0;  ///< in Placement::parts of its server
  std::vector<float> numbers, values;
};

/// The values that a message between a server and others has for each part.
enum class Content : std::uint8_t {
  kChanging,  ///< values that training changes. A push has their gradients, and the values that layers assign
  kValues,    ///< every value
  kState,     ///< every value, then the optimizer slots
  kDense,     ///< kChanging without parts with sparse gradients, of which there are PartRows beside
};

/// Placement of the variables: whole variables or their shards are assigned to the servers round-robin, in the model's
/// order, as in TensorFlow. Every task computes the same. A message has the elements of one server, or of all, one
/// after the other.
class Placement {
 public:
  /// `sparse`: the variables with sparse gradients.
  Placement(const Model& model, const std::optional<Partitioner>& partitioner, int servers,
            std::span<const std::size_t> sparse = {});

  int servers() const { return static_cast<int>(parts_.size()); }
  /// In the order of messages: trained, assigned, then constant parts.
  const std::vector<VariablePart>& parts(int server) const { return parts_[static_cast<std::size_t>(server)]; }

  /// The trained variables that are split into shards.
  std::vector<std::size_t> split() const;

  std::int64_t elements(int server, Content content) const;
  /// The most numbers and values of PartRows of a server.
  std::int64_t row_floats(int server) const;
  /// Of all servers.
  std::int64_t elements(Content content) const;

  /// A part, or one of its slots, in a message.
  struct Piece {
    const VariablePart* part = nullptr;
    int slot = -1;            ///< -1: the value
    std::int64_t offset = 0;  ///< in the message of this server
    std::int64_t elements = 0;
    bool is_state = false;  ///< of the variable's direction: a slot that has a shape of its own
  };
  std::vector<Piece> pieces(int server, Content content) const;

  /// "ps 0: 3 shards, 1.2 MiB; ps 1: ...", for the log.
  std::string text() const;

 private:
  std::vector<std::vector<VariablePart>> parts_;  ///< by server
};

}  // namespace mirrortrain
