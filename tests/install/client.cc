// Loads a cell from the installed graphs folder, compiles it and runs one step: all that a client of the library has to write.
#include <cstdio>
#include <memory>
#include <vector>

#include "compiler/compile.h"
#include "runtime/execute/executable.h"

int main() {
  using namespace graphrun;
  GraphRequest request;
  request.path = "cells/atr.pbtxt";
  request.from_graphs = true;
  request.bindings = {{"hidden", "4", {}}, {"input", "3", {}}};
  Program program = compile(load_graph(request));
  auto variables = std::make_shared<Variables>();
  initialize(program, *variables, 1);
  Executable cell(std::move(program), variables);
  const std::vector<Tensor> results = cell.run({{"x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}});
  const Sizes& h = results.at(0).sizes();
  std::printf("h: %lld rows of %lld\n", static_cast<long long>(h.at(0)), static_cast<long long>(h.at(1)));
}
