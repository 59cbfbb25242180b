#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "model/constraint.h"
#include "model/initializers.h"
#include "model/masking.h"
#include "model/model.h"
#include "model/regularizer.h"

namespace mirrortrain {

/// An input has another rank than the layer accepts, which is wrong for any extents.
class WrongRank : public Error {
 public:
  using Error::Error;
};

/// An option names an axis that an input of this rank does not have, which is wrong for any extents.
class WrongAxis : public WrongRank {
 public:
  using WrongRank::WrongRank;
};

enum class Mode { kTraining, kEvaluation };

/// The interface for a layer's `build`: adds nodes to one of the model's graphs and variables to the model. The same
/// layers are built into the training graph, which creates the variables, and then into the evaluation graph, which
/// reuses them.
class LayerBuilder {
 public:
  /// Both must outlive the builder.
  LayerBuilder(Mode mode, ModelGraph& model_graph, std::vector<ModelVariable>& variables)
      : mode_(mode), model_graph_(model_graph), variables_(variables) {}

  /// Starts a layer: what is added from now on belongs to it. If the extents of its inputs are only guessed, messages
  /// omit them. `masks`: the inputs' masks, kNoValue for an input without one. `weights_of`: the earlier layer whose
  /// variables it has; empty: it has its own.
  void begin_layer(const std::string& name, bool trainable, bool inputs_are_guessed = false,
                   std::vector<ValueId> masks = {}, const std::string& weights_of = "");

  /// While it lives, what is added belongs to a part of the layer: its weights are named `layer/part/name`, and it
  /// draws other random numbers.
  class Part {
   public:
    Part(LayerBuilder& builder, std::string_view name) : builder_(builder), before_(builder.part_) {
      if (!before_.empty()) builder.part_ += '/';
      builder.part_ += name;
    }
    ~Part() { builder_.part_ = std::move(before_); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    LayerBuilder& builder_;
    std::string before_;
  };

  /// While it lives, what is added belongs to a call of a layer within the layer, number `call` of such calls: without
  /// masks, with the weights that the first call made, and with random numbers of its own.
  class InnerCall {
   public:
    InnerCall(LayerBuilder& builder, std::size_t call);
    ~InnerCall();
    InnerCall(const InnerCall&) = delete;
    InnerCall& operator=(const InnerCall&) = delete;

   private:
    LayerBuilder& builder_;
    std::size_t call_before_, warnings_before_;
    std::vector<ValueId> masks_before_;
  };

  Mode mode() const { return mode_; }
  bool trainable() const { return trainable_; }
  const std::string& layer() const { return layer_; }
  Graph& graph() { return model_graph_.graph; }
  const Shape& shape(ValueId value) const { return model_graph_.graph.spec(value).shape; }

  template <class OpType>
  ValueId apply(OpType op, std::vector<ValueId> inputs) {
    return graph().apply_one(std::move(op), std::move(inputs));
  }

  /// `value` plus a vector, along the last axis: a bias that no op adds by itself.
  ValueId plus_along_last(ValueId value, ValueId vector);

  /// The mask of an input of the layer; kNoValue if it has none.
  ValueId mask(std::size_t input) const { return input < masks_.size() ? masks_[input] : kNoValue; }
  /// Whether any input has one.
  bool has_masks() const;
  /// Sets the mask of the layer's output; by default it has none.
  void set_output_mask(ValueId mask) { output_mask_ = mask; }
  /// Sets the output's mask from an input of the model, the result of whole_numbers(): 0 is padding. After that call.
  void mask_zero(ValueId numbers);
  /// Notes that the layer averages over the positions that count in its first input's mask.
  void note_mean_of_steps();
  ValueId output_mask() const { return output_mask_; }
  /// A warning to the user at the layer's place.
  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  /// Sets the output's mask as a layer that handles masks in this way does; warns the user, naming `type`, if one ends.
  void mask_output(Masking masking, std::string_view type);
  /// Warns that the padding mask ends at this layer, and `why`.
  void warn_of_lost_mask(std::string_view why);
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// For messages: "[784] of 'flatten'".
  std::string described(ValueId input) const;
  /// For an input of the shape [] where a vector is wanted.
  static constexpr std::string_view kNumberRemedy =
      "`- reshape: {target_shape: [1]}` makes a vector of a single number, and a formula keeps an axis by "
      "keepdims=true";
  /// How to turn a vector into a sequence; empty if unknown.
  std::string sequence_remedy(ValueId input) const;

  /// The shape of an image [height, width, channels]; throws WrongRank if the input is not an image.
  const Shape& image(ValueId input) const;

  /// The shape of a sequence [steps, channels]; throws WrongRank if the input is not one.
  const Shape& sequence(ValueId input) const;

  /// The shape of a value with `axes` axes, 1 to 3, before the channels: a sequence, an image or a volume [depth,
  /// height, width, channels]. Throws WrongRank if the input is not one.
  const Shape& spatial(ValueId input, std::size_t axes) const;

  /// The stream of the layer's random numbers.
  std::uint32_t random_stream() const;

  /// A value with the rows of the batch that depends on no weight.
  ValueId rows() const { return model_graph_.inputs.front().value; }

  /// An input of the model, in float32 and in the shape of `input`, for a layer that reads whole numbers from 0 to
  /// `limit` - 1 from it. Throws Error if `input` is anything else.
  ValueId whole_numbers(ValueId input, std::int64_t limit);

  /// The shape with its last axis, the features; throws WrongRank where the input has none.
  const Shape& features(ValueId input) const;

  /// A weight named `layer/name`: trained unless the layer is frozen. `adjust`, if given, modifies the initial values.
  /// Throws Error if it would be absurdly large, and for an initializer or a constraint on axes that it does not have.
  ValueId weight(std::string_view name, Shape shape, const Initializer& initializer,
                 const std::optional<Regularizer>& regularizer = std::nullopt,
                 const std::optional<Constraint>& constraint = std::nullopt,
                 const std::function<void(std::span<float>)>& adjust = {});

  /// A variable that is not trained: assigned (moving statistics), or what it starts as.
  ValueId statistic(std::string_view name, Shape shape, const Initializer& initializer,
                    const std::function<void(std::span<float>)>& adjust = {});

  /// The weight of that name that the layer has made, or an earlier layer; kNoValue if there is none.
  ValueId own_weight(std::string_view name) const { return find_weight(weights_of_, name); }
  ValueId find_weight(std::string_view layer, std::string_view name) const;
  /// The weight of that name of an earlier layer. Throws Error where there is none.
  ValueId weight_of(std::string_view layer, std::string_view name);

  /// Makes each training step divide the layer's weight of that name by its largest singular value before it is read.
  /// `vector`: a statistic of as many elements as the weight's last axis.
  void normalize_spectrum(std::string_view weight, ValueId vector, int iterations);

  /// Adds l1 sum(|y|) + l2 sum(y^2) of each example to its loss.
  void regularize(ValueId y, const Regularizer& regularizer);
  /// Adds what is regularized of weights' angles, once all layers have read them: how weights are divided among places
  /// follows from their first reader.
  void regularize_angles();

  /// Makes each step write `value` to `variable` after all its readers, in place of what an earlier call of the layer
  /// assigned.
  void assign(ValueId variable, ValueId value);
  /// What a step has assigned to the variable so far: its own value if nothing.
  ValueId assigned(ValueId variable) const;

  /// Elements of the variables that the layer has created or found so far.
  std::int64_t parameters() const { return parameters_; }

 private:
  ValueId add(ModelVariable variable);
  std::size_t number_of(ValueId variable) const;
  /// The variable of the layer that is called once more. Throws Error if it has another shape.
  ValueId reused(const std::string& name, const Shape& shape);
  /// The model's input with this value; null if it is none.
  ModelInput* model_input(ValueId value);

  Mode mode_;
  ModelGraph& model_graph_;
  std::vector<ModelVariable>& variables_;
  std::string layer_, part_;
  std::size_t inner_call_ = 0;
  std::string weights_of_;  ///< layer_ unless it has another's
  bool trainable_ = true, inputs_are_guessed_ = false;
  std::int64_t parameters_ = 0;
  std::vector<ValueId> masks_;
  ValueId output_mask_ = kNoValue;
  std::vector<std::string> warnings_;
  struct Angles {
    OrthogonalRegularizer regularizer;
    ValueId weight;
    std::string layer;
  };
  std::vector<Angles> angles_;  ///< of the layers so far
};

/// Throws Error, naming `what` and the shape, unless it is possible.
void check_elements(const Shape& shape, std::string_view what);

}  // namespace mirrortrain
