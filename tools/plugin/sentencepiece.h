// SentencePiece behind plain functions. Debian's library contains its own protobuf, whose symbols would clash with those of the
// programs' protobuf. It is therefore in a separate module, which is loaded when subwords are needed
// (tools/text/sentencepiece_module.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/module.h"

namespace graphrun {

extern "C" {

// Returns the next text, which is valid until the next call; null at the end. `from` is the caller's context.
using NextText = const char* (*)(void* from, std::size_t* size);

struct SentencePieceTraining {
  const char* kind;      // "bpe" or "unigram"
  std::int64_t size;     // the most pieces, including the unknown one
  double coverage;       // character coverage; 0: SentencePiece's default
  int threads;           // affects the result
  std::int64_t longest;  // the most bytes of a text
};

struct SentencePieceCalls {
  // Opens a model that checked_piece_model() returned; on failure, returns null and passes the reason.
  void* (*open)(const char* bytes, std::size_t size, TakeBytes take, void* to);
  void (*close)(void* model);
  // Passes each piece that text may become, in the order of numbers.
  void (*entries)(void* model, TakeBytes take, void* to);
  // Passes the pieces of a text, in order. False on failure.
  bool (*cut)(void* model, const char* text, std::size_t size, TakeBytes take, void* to);
  // Whether text may become this piece.
  bool (*is_piece)(void* model, const char* piece, std::size_t size);
  // Passes the text of pieces. False on failure.
  bool (*join)(void* model, NextText next, void* from, TakeBytes take, void* to);
  // Passes a model's bytes; on failure, false and the reason.
  bool (*train)(const SentencePieceTraining* training, NextText next, void* from, TakeBytes take, void* to);
};

}  // extern "C"

// The name of the module and of its one symbol: const SentencePieceCalls* graphrun_sentencepiece().
inline constexpr const char* kSentencePieceModule = "graphrun_sentencepiece";

}  // namespace graphrun
