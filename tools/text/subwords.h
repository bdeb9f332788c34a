// Splits text into subwords with SentencePiece, and joins them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// The kind of model: byte-pair merges (Sennrich et al. 2016) or a unigram language model (Kudo 2018).
enum class SubwordKind : std::uint8_t { kBpe, kUnigram };

struct SubwordTraining {
  SubwordKind kind = SubwordKind::kBpe;
  std::int64_t size = 0;  // the most pieces, including the unknown one
  double coverage = 0;    // fraction of the text's characters that pieces must cover; 0: SentencePiece's default, 0.9995
  std::string field;      // for messages
};

// Sets `text` to the next text, which is valid until the next call; false at the end.
using TextSource = std::function<bool(std::string_view& text)>;

// A SentencePiece model. Equal bytes split text equally.
class Subwords {
 public:
  // `bytes`: the contents of a model file. `name`: that of the file or field, for messages. Throws UserError (kBadData, E0657)
  // if it is not a model.
  Subwords(std::string bytes, const std::string& name);
  ~Subwords();
  Subwords(const Subwords&) = delete;
  Subwords& operator=(const Subwords&) = delete;

  static std::shared_ptr<const Subwords> read(const std::string& path);
  // Trains a model on the texts that `next` returns. The same texts give the same model on every machine. Throws UserError
  // (kBadData, E0657) if the texts do not allow that many, or that few, pieces.
  static std::shared_ptr<const Subwords> train(const SubwordTraining& training, const TextSource& next);

  const std::string& bytes() const { return bytes_; }
  // The pieces that text may become, in the order of their numbers, without the unknown piece and unused ones.
  std::vector<std::string> entries() const;
  // Text without a piece is returned unchanged.
  std::vector<std::string> pieces_of(std::string_view text) const;
  // Whether text may become this piece.
  bool is_piece(std::string_view entry) const;
  // The text of these pieces. An entry that is not a piece becomes a word of its own.
  std::string text_of(const std::vector<std::string>& pieces) const;

 private:
  std::string bytes_;
  void* model_ = nullptr;  // belongs to the module
};

}  // namespace graphrun
