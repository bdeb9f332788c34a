// Products of a table's rows with constant matrices become one op that keeps each row's products from run to run:
//   matmul(gather(E, w), W)                     gather_matmul(E, w, _, W)
//   matmul_many(where(m, gather(E, w), 0), …)   gather_matmul(E, w, m, …), where the selection m is of whole rows (padding)
// Only if E and each matrix are parameters that the graph does not write (in training, if all are frozen), and only outside
// loops: hoist has moved the products of sequences there. A dropout or a sum between the gather and the product prevents it.
// The gather stays for its other readers. Terms of a matmul_sum stay too. With int8 and bfloat16 matrices, results have the
// same bits with this pass and without; in float32 the order of a product's sums depends on its number of rows, and a kept row
// has the bits of one number of rows (ops/matmul/gather_matmul.h). A row that is not selected is 0 where rows are kept, even if
// a matrix holds an infinity; elsewhere it is then NaN, as without this pass.
//
// Must run after: merge, whose matmul_many it takes. Also removes a gather or a selection that nothing reads any more.
#pragma once

#include "compiler/passes/pass.h"

namespace graphrun {

PassResult tabulate(ir::Graph graph);

}  // namespace graphrun
