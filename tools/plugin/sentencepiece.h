// SentencePiece behind plain functions. Debian's library brings a protobuf of its own, whose symbols would be taken for those
// of the one that the programs use: so it is no part of them, but of a module of its own that is loaded where subwords are
// needed (tools/text/sentencepiece_module.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/module.h"

namespace graphrun {

extern "C" {

// The next of some texts, which lives until the next call; null at the end. `from` is the caller's.
using NextText = const char* (*)(void* from, std::size_t* size);

struct SentencePieceTraining {
  const char* kind;      // "bpe" or "unigram"
  std::int64_t size;     // pieces, the unknown one counted, at most
  double coverage;       // of characters; 0: SentencePiece's own
  int threads;           // part of what it finds
  std::int64_t longest;  // bytes of a text, at most
};

struct SentencePieceCalls {
  // A model to use; null where the bytes are none.
  void* (*open)(const char* bytes, std::size_t size);
  void (*close)(void* model);
  // Each piece that text may become, by number.
  void (*entries)(void* model, TakeBytes take, void* to);
  // The pieces of a text, in order. False where it fails.
  bool (*cut)(void* model, const char* text, std::size_t size, TakeBytes take, void* to);
  // Whether text may become this piece.
  bool (*is_piece)(void* model, const char* piece, std::size_t size);
  // The text of pieces. False where it fails.
  bool (*join)(void* model, NextText next, void* from, TakeBytes take, void* to);
  // A model's bytes; false, and why, where there is none.
  bool (*train)(const SentencePieceTraining* training, NextText next, void* from, TakeBytes take, void* to);
};

}  // extern "C"

// The name of the module and of its one symbol: const SentencePieceCalls* graphrun_sentencepiece().
inline constexpr const char* kSentencePieceModule = "graphrun_sentencepiece";

}  // namespace graphrun
