#pragma once

#include "config/rules.h"

namespace mirrortrain {

// What other libraries call keys that several layers or optimizers have. Those of one alone are beside it.
inline constexpr auto kUnitsAliases = config::aliases("out_features, neurons, nodes, size, hidden_size, num_units");
inline constexpr auto kFiltersAliases = config::aliases("out_channels, channels");
inline constexpr auto kStridesAliases = config::aliases("stride");
inline constexpr auto kGroupsAliases = config::aliases("num_groups");
inline constexpr auto kUseBiasAliases = config::aliases("bias");
inline constexpr auto kActivationAliases = config::aliases("act, nonlinearity");
inline constexpr auto kKernelInitializerAliases = config::aliases("weight_init, initializer");
inline constexpr auto kEpsilonAliases = config::aliases("eps");
inline constexpr auto kBeta1Aliases = config::aliases("beta1");
inline constexpr auto kBeta2Aliases = config::aliases("beta2");
/// Of globs of variables.
inline constexpr auto kMatchAliases = config::aliases("layers, layer, pattern, glob, params, variables");
inline constexpr auto kRhoAliases = config::aliases("alpha");

}  // namespace mirrortrain
