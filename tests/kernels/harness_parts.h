#pragma once

#include "kernels/harness.h"

namespace mirrortrain::testing {

// What check_forward and check_gradient share.

using Inputs = std::vector<std::pair<ValueSpec, Values>>;

/// The inputs of a case, the same for the same seed.
Inputs random_inputs(const std::vector<Operand>& operands, std::int64_t rows, unsigned seed = 1);

std::vector<Values> values_of(const Inputs& inputs);

double default_tolerance(const Case& test);

/// The numbers of threads that the case is run with.
std::vector<int> threads_of(const Case& test);

/// Fails the test at the first element whose error is more than tolerance times (|expected| + root mean square); NaN
/// equals NaN and infinities equal themselves.
void compare(const Values& found, const Values& expected, double tolerance, const std::string& where);

}  // namespace mirrortrain::testing
