#include "model/optimizers/muon.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/utf8.h"
#include "model/key_aliases.h"

namespace mirrortrain::optimizers {
namespace {

/// Matched in time that is linear in the text, whatever the expression.
re2::RE2 compiled(const std::string& expression) { return {expression, re2::RE2::Quiet}; }

/// The mistake in a regular expression; empty if there is none.
std::string mistake_in(const std::string& expression) {
  const re2::RE2 made = compiled(expression);
  return made.ok() ? "" : "'" + expression + "' is not a regular expression: " + made.error();
}

}  // namespace

config::Section<Muon> Muon::section() {
  using Self = Muon;
  return config::Section<Self>(
             "Muon: steps along the orthogonal matrix nearest to a matrix's momentum (Jordan et al., 2024); AdamW for "
             "variables of other shapes.")
      .key("momentum", &Self::momentum, "Momentum of the matrices' gradients.", config::between(0, 1))
      .key("nesterov", &Self::nesterov, "Whether to apply Nesterov momentum.")
      .key("ns_steps", &Self::ns_steps, "Number of Newton-Schulz iterations, which make a matrix orthogonal.",
           config::at_least(0), config::at_most(100))
      .key("muon_a", &Self::a, "Factor of the matrix itself in an iteration.")
      .key("muon_b", &Self::b, "Factor of its third power.")
      .key("muon_c", &Self::c, "Factor of its fifth power.")
      .key(
          "rms_rate", &Self::rms,
          "Scales the steps of a matrix by this and the square root of its larger side, so that learning rates of Adam "
          "suit; null: no scaling.",
          config::greater_than(0))
      .key("exclude_layers", &Self::exclude_layers,
           "Regular expressions; AdamW updates the matrices in whose variable names one is found.")
      .key("exclude_embeddings", &Self::exclude_embeddings,
           "Whether AdamW updates the matrices with `embedding` in their variable names.")
      .key("adam_beta_1", &Self::adam_beta_1, "AdamW's decay rate of the 1st moment estimates.", config::at_least(0),
           config::less_than(1))
      .key("adam_beta_2", &Self::adam_beta_2, "AdamW's decay rate of the 2nd moment estimates.", config::at_least(0),
           config::less_than(1))
      .key("epsilon", &Self::epsilon, "AdamW's constant for numerical stability.", config::at_least(0), kEpsilonAliases)
      .key("adam_weight_decay", &Self::adam_weight_decay, "AdamW's weight decay.", config::at_least(0))
      .key("adam_lr_ratio", &Self::adam_lr_ratio, "AdamW's learning rate, as a factor of Muon's.",
           config::greater_than(0))
      .check("exclude_layers",
             [](const Self& muon) {
               std::string mistake;
               for (const auto& one : muon.exclude_layers) {
                 if (mistake.empty()) mistake = mistake_in(one.value);
               }
               return mistake;
             })
      .include<OptimizerCommon>();
}

scalar::Muon Muon::of_matrices() const {
  scalar::Muon rule = *this;
  rule.rms_rate = static_cast<float>(rms.value_or(0));
  return rule;
}

scalar::Adam Muon::of_others() const {
  return {static_cast<float>(adam_beta_1), static_cast<float>(adam_beta_2), static_cast<float>(epsilon)};
}

bool Muon::is_for(const std::string& name, std::size_t rank) const {
  if (rank != 2) return false;
  if (exclude_embeddings && in_lower_case(name).find("embedding") != std::string::npos) return false;
  return std::ranges::none_of(exclude_layers, [&](const auto& one) { return finds(one.value, name); });
}

bool Muon::finds(const std::string& expression, const std::string& name) {
  return re2::RE2::PartialMatch(name, compiled(expression));
}

}  // namespace mirrortrain::optimizers
