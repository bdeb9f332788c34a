// Merging of matrix products:
//  - sums: products that are added up (x @ W + h @ U, the gradients of a state or an input through several gates) become one
//    `matmul_sum`, which accumulates in place instead of writing every product. In a step of generation, products that are
//    added up in more places than there are terms (the gates of a GRU over x and h) merge by their shared factors instead,
//    which usually takes fewer kernels;
//  - shared factors: products of the same rows with matrices of one size (the gates of an LSTM) become one `matmul_many`, and
//    sums of outer products with the same rows (the gradients of their weights) one `matmul_reduce_many`: one kernel with
//    several results.
// The matrices remain separate parameters under their own names; a kernel packs them together if that is faster.
//
// Products merge if all their operands are available before the first of them. Outside loops, results for all steps of a batch
// (whose rows have several axes) merge only if the same node is the first to read them; otherwise some would be kept
// longer. Those of one step are small: the gates of a step of generation merge although different nodes read them. In a loop's
// body, matrices that are the same at every step do not merge with others: threads share a loop only if all of its matrices can
// be packed in advance. Nor do matrices that are the same from run to run, such as parameters, outside and inside loops: a
// kernel packs and rounds all of its matrices or none. Results change in the last bits, because the order of sums changes.
//
// Must run after: hoist, whose products over all steps it merges, and dead_code. Before: fuse, which would hide the sums.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult merge(ir::Graph graph);

}  // namespace graphrun
