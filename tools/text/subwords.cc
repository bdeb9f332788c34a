#include "tools/text/subwords.h"

#include <fmt/format.h>

#include "runtime/base/file.h"
#include "runtime/base/status.h"
#include "tools/text/lines.h"
#include "tools/text/piece_model.h"
#include "tools/text/sentencepiece_module.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestModel = std::uint64_t{1} << 26;  // bytes
// The trainer splits its sums among threads, so the result depends on their number, which must not depend on the machine.
constexpr int kTrainingThreads = 4;

// SentencePiece's message without its source location.
std::string reason(std::string text) {
  if (const std::size_t condition = text.rfind("] "); condition != std::string::npos) text = text.substr(condition + 2);
  return text.empty() ? "SentencePiece gives no reason" : text;
}

void add_to_list(void* to, const char* bytes, std::size_t size) {
  static_cast<std::vector<std::string>*>(to)->emplace_back(bytes, size);
}

void add_to_text(void* to, const char* bytes, std::size_t size) { static_cast<std::string*>(to)->append(bytes, size); }

// Iterates over a list of texts.
struct TextList {
  const std::vector<std::string>& texts;
  std::size_t next = 0;
};

const char* next_text(void* from, std::size_t* size) {
  TextList& list = *static_cast<TextList*>(from);
  if (list.next == list.texts.size()) return nullptr;
  const std::string& text = list.texts[list.next++];
  *size = text.size();
  return text.data();
}

const char* next_of_source(void* from, std::size_t* size) {
  std::string_view text;
  if (!(*static_cast<TextSource*>(from))(text)) return nullptr;
  *size = text.size();
  return text.data();
}

}  // namespace

Subwords::Subwords(std::string bytes, const std::string& name) : bytes_(std::move(bytes)) {
  const std::string checked = checked_piece_model(bytes_, name);
  std::string why;
  model_ = sentencepiece_module().open(checked.data(), checked.size(), add_to_text, &why);
  if (model_ == nullptr) bad_piece_model(name, reason(std::move(why)));
}

Subwords::~Subwords() {
  if (model_ != nullptr) sentencepiece_module().close(model_);
}

std::shared_ptr<const Subwords> Subwords::read(const std::string& path) {
  return std::make_shared<const Subwords>(read_file(path, kLargestModel), "'" + path + "'");
}

std::shared_ptr<const Subwords> Subwords::train(const SubwordTraining& training, const TextSource& next) {
  const bool merges = training.kind == SubwordKind::kBpe;
  const SentencePieceTraining settings = {merges ? "bpe" : "unigram", training.size, training.coverage, kTrainingThreads,
                                          static_cast<std::int64_t>(kLongestLine)};
  std::string made;
  TextSource from = next;
  if (!sentencepiece_module().train(&settings, next_of_source, &from, add_to_text, &made)) {
    throw UserError(ExitCode::kBadData, "E0657 bad-subwords",
                    fmt::format("no {} subwords of the training texts of field '{}': {}", merges ? "BPE" : "unigram",
                                training.field, reason(std::move(made))),
                    {fmt::format("note: {} pieces were requested", training.size),
                     "help: vocabulary { size: … } sets the number; every character of the texts is at least one piece"});
  }
  return std::make_shared<const Subwords>(std::move(made), fmt::format("the model of field '{}'", training.field));
}

std::vector<std::string> Subwords::entries() const {
  std::vector<std::string> entries;
  sentencepiece_module().entries(model_, add_to_list, &entries);
  return entries;
}

std::vector<std::string> Subwords::pieces_of(std::string_view text) const {
  std::vector<std::string> pieces;
  const bool done = sentencepiece_module().cut(model_, text.data(), text.size(), add_to_list, &pieces);
  GRAPHRUN_CHECK(done, "SentencePiece cuts no text");
  return pieces;
}

bool Subwords::is_piece(std::string_view entry) const {
  return sentencepiece_module().is_piece(model_, entry.data(), entry.size());
}

std::string Subwords::text_of(const std::vector<std::string>& pieces) const {
  std::string text;
  std::vector<std::string> run;
  const auto add = [&](const std::string& part) {
    if (!text.empty() && !part.empty()) text += ' ';
    text += part;
  };
  const auto close = [&] {
    TextList list{run};
    std::string part;
    const bool done = sentencepiece_module().join(model_, next_text, &list, add_to_text, &part);
    GRAPHRUN_CHECK(done, "SentencePiece joins no pieces");
    add(part);
    run.clear();
  };
  for (const std::string& piece : pieces) {
    if (is_piece(piece)) {
      run.push_back(piece);
      continue;
    }
    close();
    add(piece);
  }
  close();
  return text;
}

}  // namespace graphrun
