#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "keras/json.h"
#include "keras/layer_order.h"
#include "keras/problems.h"
#include "keras/reading/network.h"

namespace mirrortrain::keras {

/// Whether any layer, of models within models too, makes a mask of padding.
bool makes_masks(const Json& json);

/// The mask that a value carries, here and in Keras's fit.
struct MaskState {
  /// What is attached to the tensor while Keras runs. kUnsure: to some, as to dropout's input, depending on whether it
  /// trains.
  enum class AtRun { kNone, kMask, kUnsure };

  bool carries = false;  ///< the value as it is written here
  AtRun at_run = AtRun::kNone;
  std::set<std::string> makers{};    ///< comparisons that the mask is made of
  bool is_foreign = false;           ///< made in another model, so that its makers are not known
  bool is_other_at_padding = false;  ///< the numbers at padding are not those of Keras

  friend bool operator==(const MaskState&, const MaskState&) = default;
};

/// Where masks have to end so that layers see those that they see in Keras.
struct MaskPlan {
  std::set<std::pair<LayerCall, std::size_t>> unmasked{};  ///< inputs of calls, by their number
  std::set<LayerCall> without_query_mask{};                ///< attention that hands its query's mask on unused
  std::set<LayerCall> masked;                              ///< calls whose outputs carry a mask
  std::map<LayerCall, std::vector<MaskState>> inputs_of_models{};
  std::vector<MaskState> inputs{}, outputs{};  ///< when all has run; of the network
  bool sees_other_padding = false;             ///< something reads numbers at padding that are not Keras's
};

/// What attention does whose query has a mask here that it has not in Keras, and that later layers need.
enum class QueryMasks {
  kUsed,  ///< what it computes at padding differs, which does not matter where nothing reads it. Keras can save it
  kLeft,  ///< it leaves the mask unused (use_query_mask: false)
};

/// kLeft where something would read what differs; of a whole model, whose inputs have no masks.
QueryMasks query_masks_of(const Network& network);

/// Follows the masks through a network as Keras runs it. There a layer whose file names its mask takes that one, any
/// other what is attached to its inputs, which MultiHeadAttention takes off (keras/src/layers/attention). Here a mask
/// is always handed on with its values: reports what cannot be said so. `inputs`: of the network; none: without masks.
MaskPlan plan_masks(const Network& network, std::vector<MaskState> inputs, QueryMasks query_masks, Problems& problems);
/// Whether a mask that a value carries has to end at an output of the whole model, whose loss counts padding in Keras.
bool ends_at_output(const MaskState& output, const std::string& where, Problems& problems);

}  // namespace mirrortrain::keras
