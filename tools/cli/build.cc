#include "tools/cli/build.h"

namespace graphrun {

const Build& this_build() {
  static const Build build = {GRAPHRUN_VERSION, GRAPHRUN_COMPILER, GRAPHRUN_FLAGS};
  return build;
}

}  // namespace graphrun
