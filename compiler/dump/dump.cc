#include "compiler/dump/dump.h"

#include "compiler/ir/printer.h"
#include "runtime/base/status.h"

namespace graphrun {

std::optional<DumpFormat> dump_format(std::string_view name) {
  if (name == "text") return DumpFormat::kText;
  if (name == "pbtxt") return DumpFormat::kPbtxt;
  if (name == "dot") return DumpFormat::kDot;
  if (name == "svg") return DumpFormat::kSvg;
  if (name == "json") return DumpFormat::kJson;
  if (name == "html") return DumpFormat::kHtml;
  return std::nullopt;
}

std::string dump(const ir::Graph& graph, DumpFormat format) {
  switch (format) {
    case DumpFormat::kText: return ir::print(graph);
    case DumpFormat::kPbtxt: return dump_pbtxt(graph);
    case DumpFormat::kDot: return dot(graph);
    case DumpFormat::kSvg: return svg(graph);
    case DumpFormat::kJson: return json(graph);
    case DumpFormat::kHtml: break;
  }
  throw InternalError("a page shows several stages");
}

}  // namespace graphrun
