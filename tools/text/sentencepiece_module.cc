#include "tools/text/sentencepiece_module.h"

namespace graphrun {

const SentencePieceCalls& sentencepiece_module() {
  // A separate module, or its protobuf would be the programs': see tools/plugin/sentencepiece.h.
  static const SentencePieceCalls* const kCalls = reinterpret_cast<const SentencePieceCalls* (*)()>(
      module_function({kSentencePieceModule, true, "E0511 no-sentencepiece", "SentencePiece, which cuts text into subwords,",
                       "Debian's package is libsentencepiece0"}))();
  return *kCalls;
}

}  // namespace graphrun
