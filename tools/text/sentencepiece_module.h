// SentencePiece, loaded when it is first needed.
#pragma once

#include "tools/plugin/sentencepiece.h"

namespace graphrun {

// Throws UserError (kRunFailed, E0511) where the module is not where the programs are.
const SentencePieceCalls& sentencepiece_module();

}  // namespace graphrun
