// A graph of two loops that may run concurrently.
#pragma once

#include <string>

namespace graphrun {

// Both directions of a layer, with a product of each one's inputs before it and a sum of both after it; `begin`: the second's.
inline std::string two_directions(const std::string& begin, const std::string& second_width = "150", bool ends = true) {
  const auto loop = [](const std::string& name, const std::string& begin, const std::string& width,
                       const std::string& reverse) {
    return "%" + name + "_end: FLOAT[batch, " + width + "], %" + name + ": FLOAT[time, batch, " + width + "] = scan(" + begin +
           ", %p" + name + ", %U" + name + "; states=1, each=1, steps=<time>, reverse=" + reverse + R"() body "b" {
      input %h: FLOAT[batch, )" +
           width + R"(]
      input %x: FLOAT[batch, )" +
           width + R"(]
      input %U: FLOAT[)" +
           width + ", " + width + R"(]
      input %step: INT32[]
      %q = matmul(%h, %U)
      %f = sigmoid(%q)
      %r = mul(%f, %h)
      %c = matmul(%r, %U)
      %s = add(%x, %c)
      %t = tanh(%s)
      %h1 = add(%r, %t)
      output "h" = %h1
      output "y" = %t
    }
)";
  };
  return R"(graph "g" {
    input %x: FLOAT[time, batch, 150]
    input %Wa: FLOAT[150, 150]
    input %Ua: FLOAT[150, 150]
    input %Wb: FLOAT[150, )" +
         second_width + R"(]
    input %Ub: FLOAT[)" +
         second_width + ", " + second_width + R"(]
    %h0 = full(; shape=[batch, 150], value=0.1, type="FLOAT")
    %g0 = full(; shape=[batch, )" +
         second_width + R"(], value=0.2, type="FLOAT")
    %pa = matmul(%x, %Wa)
)" + loop("a", "%h0", "150", "false") +
         R"(    %sa = sum(%a)
    %pb = matmul(%x, %Wb)
)" + loop("b", begin, second_width, "true") +
         R"(    output "a" = %a
    output "b" = %b
)" +
         (ends ? R"(    output "ends" = %a_end
    output "endb" = %b_end
)"
               : "") +
         R"(    output "sum" = %sa
  })";
}

}  // namespace graphrun
