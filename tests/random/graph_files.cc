#include "tests/random/graph_files.h"

#include <sstream>

#include "runtime/base/file.h"

namespace graphrun::random_graphs {

Generated read_graph(const std::string& path) {
  Generated graph;
  graph.text = read_file(path, 1 << 20);
  const std::string mark = "# generate: ";
  if (const std::size_t at = graph.text.find(mark); at != std::string::npos) {
    std::istringstream words(graph.text.substr(at + mark.size()));
    GenerationSpec spec;
    words >> spec.scan >> spec.feed >> spec.score;
    graph.generation = spec;
  }
  return graph;
}

}  // namespace graphrun::random_graphs
