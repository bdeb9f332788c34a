// SentencePiece, loaded when it is first needed.
#pragma once

#include "tools/plugin/sentencepiece.h"

namespace graphrun {

// Throws UserError (kRunFailed, E0511) if the module is missing.
const SentencePieceCalls& sentencepiece_module();

}  // namespace graphrun
