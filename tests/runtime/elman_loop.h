// The loop of an Elman layer as the text of a graph.
#pragma once

#include <string>

namespace graphrun::tests {

// The scan h := tanh(h @ U + x) over %x [time, batch, width], with the initial state %h0 and the matrix %U; %`name` is its
// final state. `attributes`: those of the product, "; precision=…".
inline std::string elman_loop(const std::string& name, int width, bool reverse = false, const std::string& attributes = "") {
  const std::string n = std::to_string(width);
  return "%" + name + ": FLOAT[batch, " + n +
         "] = scan(%h0, %x, %U; states=1, each=1, steps=<time>, reverse=" + (reverse ? "true" : "false") + ") body \"" + name +
         "\" {\n  input %h: FLOAT[batch, " + n + "]\n  input %x: FLOAT[batch, " + n + "]\n  input %U: FLOAT[" + n + ", " + n +
         R"(]
  input %step: INT32[]
  %u = matmul(%h, %U)" +
         attributes + R"()
  %v = add(%u, %x)
  %t = tanh(%v)
  output "h" = %t
}
)";
}

}  // namespace graphrun::tests
