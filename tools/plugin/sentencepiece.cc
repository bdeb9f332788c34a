#include "tools/plugin/sentencepiece.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace graphrun {
namespace {

using Processor = sentencepiece::SentencePieceProcessor;

const Processor& processor_of(void* model) { return *static_cast<Processor*>(model); }

class Texts : public sentencepiece::SentenceIterator {
 public:
  Texts(NextText next, void* from) : next_(next), from_(from) { Next(); }
  bool done() const override { return done_; }
  void Next() override {
    std::size_t size = 0;
    const char* const text = next_(from_, &size);
    done_ = text == nullptr;
    if (!done_) text_.assign(text, size);
  }
  const std::string& value() const override { return text_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  NextText next_;
  void* from_;
  std::string text_;
  bool done_ = false;
};

void* open(const char* bytes, std::size_t size, TakeBytes take, void* to) {
  auto processor = std::make_unique<Processor>();
  const auto status = processor->LoadFromSerializedProto({bytes, size});
  if (status.ok()) return processor.release();
  const std::string why = status.error_message();
  take(to, why.data(), why.size());
  return nullptr;
}

void close(void* model) { delete static_cast<Processor*>(model); }

void entries(void* model, TakeBytes take, void* to) {
  const Processor& processor = processor_of(model);
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    if (processor.IsUnknown(id) || processor.IsControl(id) || processor.IsUnused(id)) continue;
    const std::string& piece = processor.IdToPiece(id);
    take(to, piece.data(), piece.size());
  }
}

bool cut(void* model, const char* text, std::size_t size, TakeBytes take, void* to) {
  std::vector<std::string> pieces;
  if (!processor_of(model).Encode({text, size}, &pieces).ok()) return false;
  for (const std::string& piece : pieces) take(to, piece.data(), piece.size());
  return true;
}

bool is_piece(void* model, const char* piece, std::size_t size) {
  const Processor& processor = processor_of(model);
  const std::string text(piece, size);
  const int id = processor.PieceToId(text);
  return !processor.IsUnknown(id) && !processor.IsControl(id) && processor.IdToPiece(id) == text;
}

bool join(void* model, NextText next, void* from, TakeBytes take, void* to) {
  std::vector<std::string> pieces;
  std::size_t size = 0;
  while (const char* const piece = next(from, &size)) pieces.emplace_back(piece, size);
  std::string text;
  if (!processor_of(model).Decode(pieces, &text).ok()) return false;
  take(to, text.data(), text.size());
  return true;
}

bool train(const SentencePieceTraining* training, NextText next, void* from, TakeBytes take, void* to) {
  std::unordered_map<std::string, std::string> options = {
      {"model_type", training->kind},
      {"vocab_size", std::to_string(training->size)},
      {"hard_vocab_limit", "false"},  // little text gives fewer pieces, which is not an error
      {"unk_id", "0"},
      {"bos_id", "-1"},  // feeds add begin and end symbols
      {"eos_id", "-1"},
      {"pad_id", "-1"},
      {"max_sentence_length", std::to_string(training->longest)},
      {"num_threads", std::to_string(training->threads)},
      {"minloglevel", "2"},
  };
  if (training->coverage > 0) options["character_coverage"] = std::to_string(training->coverage);
  Texts texts(next, from);
  std::string bytes;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &texts, &bytes);
  if (!status.ok()) bytes = status.error_message();
  take(to, bytes.data(), bytes.size());
  return status.ok();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const SentencePieceCalls* graphrun_sentencepiece();

const SentencePieceCalls* graphrun_sentencepiece() {
  static constexpr SentencePieceCalls kCalls = {open, close, entries, cut, is_piece, join, train};
  return &kCalls;
}

}  // namespace graphrun
