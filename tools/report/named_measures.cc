#include "tools/report/named_measures.h"

#include <algorithm>

#include "tools/report/tag_measure.h"

namespace graphrun {

std::vector<std::string> named_measures() { return {"accuracy", "exact", "segmentation", "spans"}; }

bool is_named_measure(const ir::Expression& e) {
  const auto names = named_measures();
  return e.kind == ir::Expression::Kind::kCall && std::find(names.begin(), names.end(), e.text) != names.end();
}

std::unique_ptr<NamedMeasure> make_named_measure(const ir::Expression& e) {
  if (e.text == "accuracy") return make_accuracy(e);
  if (e.text == "exact") return make_exact_measure(e);
  if (e.text == "spans") return make_spans(e);
  GRAPHRUN_CHECK(e.text == "segmentation", "make_named_measure: " + e.text);
  return make_segmentation(e);
}

}  // namespace graphrun
