#include "compiler/dump/layout.h"

#include "compiler/plugin/graphviz.h"
#include "runtime/base/status.h"

namespace graphrun {

std::string lay_out(const std::string& dot, const char* format) {
  static const auto draw = reinterpret_cast<GraphvizDraw>(
      module_function({kGraphvizModule, false, "E0514 no-graphviz", "Graphviz, which draws graphs,",
                       "Debian's package is libgvc6; --format=dot gives the text that it draws from"}));
  std::string result;
  const auto take = [](void* to, const char* bytes, std::size_t size) { static_cast<std::string*>(to)->assign(bytes, size); };
  const char* const failure = draw(dot.c_str(), format, take, &result);
  if (failure != nullptr)
    throw UserError(ExitCode::kRunFailed, "E0510 cannot-draw", std::string("Graphviz cannot draw this graph: ") + failure,
                    {"help: --format=dot gives the text that it draws from"});
  return result;
}

}  // namespace graphrun
