// Merging of matrix products:
//  - sums: products of rows with a matrix each that are added up (x @ W + h @ U, the gradients by a state or an input through
//    several gates) become one `matmul_sum`, which adds where the result stands instead of writing every product;
//  - shared factors: products of the same rows with matrices of one size (the gates of an LSTM) become one `matmul_many`, sums
//    of outer products with the same rows (their weights' gradients) one `matmul_reduce_many`: one kernel, a result each.
// The matrices stay what they are, parameters under their own names; a kernel lays them side by side where that helps it.
//
// Products merge where all that they read is there before the first of them. Outside loops, results that grow with the batch
// merge only where the same node is the first to read them: others would be held longer. In a loop's body, matrices that are
// the same at every step do not mix with others: threads share a loop only where all of its matrices can be packed ahead.
// Numbers change in the last bits: a sum's order does.
//
// Must run after: hoist, whose products over all steps it merges, and dead_code. Before: fuse, which would hide the sums.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult merge(ir::Graph graph);

}  // namespace graphrun
