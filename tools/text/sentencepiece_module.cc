#include "tools/text/sentencepiece_module.h"

#include <dlfcn.h>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

constexpr const char* kModule = "libgraphrun_sentencepiece.so";

// Its own symbols come before the programs' own, or protobuf would be taken from them: see tools/plugin/sentencepiece.h. What
// sanitizers watch can't be loaded so; there it gets everything it needs anew.
void* load() {
#ifdef __SANITIZE_ADDRESS__
  return dlmopen(LM_ID_NEWLM, kModule, RTLD_NOW | RTLD_LOCAL);
#else
  return dlopen(kModule, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
#endif
}

const SentencePieceCalls& calls() {
  void* const module = load();  // stays
  void* const symbol = module == nullptr ? nullptr : dlsym(module, kSentencePieceSymbol);
  if (symbol == nullptr) {
    const char* const why = dlerror();
    throw UserError(
        ExitCode::kRunFailed, "E0511 no-sentencepiece",
        std::string("SentencePiece, which cuts text into subwords, can't be loaded: ") + (why ? why : "no reason given"),
        {std::string("help: ") + kModule + " belongs beside graphrun's own library; tools/build makes both"});
  }
  return *reinterpret_cast<const SentencePieceCalls* (*)()>(symbol)();
}

}  // namespace

const SentencePieceCalls& sentencepiece_module() {
  static const SentencePieceCalls& kCalls = calls();
  return kCalls;
}

}  // namespace graphrun
