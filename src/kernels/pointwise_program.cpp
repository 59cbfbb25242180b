#include <cstdint>
#include <vector>

#include "base/error.h"
#include "kernels/scalar/pointwise.h"

namespace mirrortrain::scalar {
namespace {

using Code = ops::PointwiseCode;
using Operand = ops::PointwiseOperand;
using Kind = Operand::Kind;

/// Puts the steps of a function into those of a program.
class Planner {
 public:
  explicit Planner(const ops::PointwiseFunction& function) : function_(function), readers_(function.steps().size(), 0) {
    for (const ops::PointwiseStep& step : function.steps()) steps_.push_back({step.code, {step.a, step.b, step.c}});
    for (const Planned& step : steps_) {
      for (int i = 0; i < step.operands(); ++i) note_reader(step.operand[i], 1);
    }
    note_reader(function.result(), 1);
    result_ = function.result();
  }

  PointwiseProgram run() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (int k = 0; k < steps_[i].operands(); ++k) steps_[i].operand[k] = now(steps_[i].operand[k]);
      merge_factor(i);
      take_factor_of_operand(i);
      take_function(i);
      take_product(i);
    }
    result_ = now(result_);
    return program();
  }

 private:
  struct Planned {
    Code code;
    Operand operand[3];
    float before = 1, factor = 1;
    int more_operands = 0;             ///< of a code with one: a factor, and what is added
    bool is_left = true;               ///< whether the program has it
    Operand same_as{Kind::kStep, -1};  ///< what gives its result, where it has not

    int operands() const { return ops::operands_of(code) + more_operands; }
    bool is_of_one() const { return ops::operands_of(code) == 1; }
    /// Whether a factor would not be one of all that it gives.
    bool adds() const { return more_operands == 2; }
  };

  static std::size_t index(Operand operand) { return static_cast<std::size_t>(operand.number); }
  static bool is_step(Operand operand) { return operand.kind == Kind::kStep; }
  void note_reader(Operand operand, int more) {
    if (is_step(operand)) readers_[index(operand)] += more;
  }
  Operand now(Operand operand) const {
    while (is_step(operand) && steps_[index(operand)].same_as.number >= 0) operand = steps_[index(operand)].same_as;
    return operand;
  }
  /// Which operand of a product is its constant factor; -1 if none is.
  static int constant_factor(const Planned& step) {
    if (step.code != Code::kMultiply) return -1;
    const bool first = step.operand[0].kind == Kind::kConstant, second = step.operand[1].kind == Kind::kConstant;
    return first == second ? -1 : first ? 0 : 1;
  }
  /// The step that gives an operand, if nothing else reads it.
  Planned* sole(Operand operand) {
    return is_step(operand) && readers_[index(operand)] == 1 ? &steps_[index(operand)] : nullptr;
  }

  /// c f(x) as one step.
  void merge_factor(std::size_t i) {
    Planned& step = steps_[i];
    const int constant = constant_factor(step);
    if (constant < 0) return;
    const Operand of = step.operand[1 - constant];
    Planned* const inner = sole(of);
    if (inner == nullptr || inner->factor != 1 || inner->adds()) return;
    inner->factor = function_.value(step.operand[constant]);
    readers_[index(of)] = readers_[i];
    step.is_left = false;
    step.same_as = of;
  }

  /// f(c x) as one step.
  void take_factor_of_operand(std::size_t i) {
    Planned& step = steps_[i];
    if (!step.is_left || !step.is_of_one()) return;
    Planned* const product = sole(step.operand[0]);
    const int constant = product != nullptr && product->factor == 1 ? constant_factor(*product) : -1;
    if (constant < 0) return;
    step.before = function_.value(product->operand[constant]);
    step.operand[0] = product->operand[1 - constant];
    product->is_left = false;
  }

  /// f(x) b as one step.
  void take_function(std::size_t i) {
    Planned& step = steps_[i];
    if (!step.is_left || step.code != Code::kMultiply || constant_factor(step) >= 0 || step.factor != 1) return;
    for (const int k : {0, 1}) {
      Planned* const function = sole(step.operand[k]);
      if (function == nullptr || !function->is_of_one() || function->more_operands > 0) continue;
      const Operand factor = step.operand[1 - k];
      step = *function;
      step.operand[1] = factor;
      step.more_operands = 1;
      function->is_left = false;
      return;
    }
  }

  /// a b + c, or f(x) b + c, as one step.
  void take_product(std::size_t i) {
    Planned& step = steps_[i];
    if (!step.is_left || step.code != Code::kAdd) return;
    for (const int k : {0, 1}) {
      Planned* const product = sole(step.operand[k]);
      const Operand other = step.operand[1 - k];
      if (product == nullptr || other.kind == Kind::kConstant) continue;
      if (product->is_of_one() && product->more_operands == 1) {
        step = *product;
        step.operand[2] = other;
        step.more_operands = 2;
        product->is_left = false;
        return;
      }
      if (product->code != Code::kMultiply || product->factor != 1 || constant_factor(*product) >= 0) continue;
      step.code = Code::kMultiplyAdd;
      step.operand[0] = product->operand[0];
      step.operand[1] = product->operand[1];
      step.operand[2] = other;
      product->is_left = false;
      return;
    }
  }

  PointwiseProgram program() const {
    PointwiseProgram made;
    made.inputs = static_cast<int>(function_.inputs());
    for (std::size_t i = 0; i < function_.constants().size(); ++i) made.constant[i] = function_.constants()[i];
    std::vector<std::size_t> last_reader(steps_.size(), 0);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (int k = 0; steps_[i].is_left && k < steps_[i].operands(); ++k) {
        if (is_step(steps_[i].operand[k])) last_reader[index(steps_[i].operand[k])] = i;
      }
    }
    if (is_step(result_)) last_reader[index(result_)] = steps_.size();

    std::vector<std::uint8_t> slot_of(steps_.size(), 0), free;
    const auto place = [&](Operand operand) {
      if (is_step(operand)) return slot_of[index(operand)];
      const int first = operand.kind == Kind::kInput ? PointwiseProgram::kFirstInput : PointwiseProgram::kFirstConstant;
      return static_cast<std::uint8_t>(first + operand.number);
    };
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Planned& step = steps_[i];
      if (!step.is_left) continue;
      if (free.empty()) {
        if (made.slots == PointwiseProgram::kMostSlots) {
          throw Error("pointwise: the function needs too many intermediate results");
        }
        free.push_back(static_cast<std::uint8_t>(made.slots++));
      }
      slot_of[i] = free.back();  // none that the step reads
      free.pop_back();
      PointwiseProgram::Step& to = made.step[made.steps++];
      const int operands = step.operands();
      to = {step.code,  static_cast<std::uint8_t>(operands), slot_of[i], place(step.operand[0]), 0, 0, step.before,
            step.factor};
      if (operands > 1) to.b = place(step.operand[1]);
      if (operands > 2) to.c = place(step.operand[2]);
      for (std::size_t earlier = 0; earlier < i; ++earlier) {
        if (steps_[earlier].is_left && last_reader[earlier] == i) free.push_back(slot_of[earlier]);
      }
    }
    made.result = place(result_);
    return made;
  }

  const ops::PointwiseFunction& function_;
  std::vector<Planned> steps_;
  std::vector<int> readers_;
  Operand result_;
};

}  // namespace

PointwiseProgram program_of(const ops::PointwiseFunction& function) { return Planner(function).run(); }

}  // namespace mirrortrain::scalar
