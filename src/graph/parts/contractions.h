#pragma once

#include "graph/parts/op_rule.h"

namespace mirrortrain::parts {

// Ops that multiply by a weight: in parts by columns of the weight, or by its rows, whose products the places add.

/// x · kernel + bias: by columns of the kernel or by its rows.
Ways dense(const DividedNode& node);
/// x · kernel^T, as with a tied weight.
Ways transposed_dense(const DividedNode& node);
Ways convolution(const DividedNode& node);
/// As a forward op: the kernel [height, width, in, out] makes `in` channels of `out`.
Ways transposed_convolution(const DividedNode& node);
/// By columns of the table, or by its rows: those of another part are zeros in the sum.
Ways embedding(const DividedNode& node);
/// The recurrent kernel's units are divided, and gathered before the first step: every state depends on all of them,
/// and to exchange states at each step would take longer than to compute them.
Ways recurrent(const DividedNode& node);
/// By heads.
Ways attention(const DividedNode& node);

}  // namespace mirrortrain::parts
