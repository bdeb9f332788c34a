// Text cut into subwords by SentencePiece, and put together again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// How pieces are found: by merges (Sennrich et al. 2016) or by a unigram language model (Kudo 2018).
enum class SubwordKind : std::uint8_t { kBpe, kUnigram };

struct SubwordTraining {
  SubwordKind kind = SubwordKind::kBpe;
  std::int64_t size = 0;  // pieces, the unknown one counted, at most
  double coverage = 0;    // share of the text's characters that pieces must have; 0: SentencePiece's own, 0.9995
  std::string field;      // for messages
};

// Sets `text` to the next text, which stays until the next call; false: there is none.
using TextSource = std::function<bool(std::string_view& text)>;

// A model of SentencePiece's, ready to use. Equal bytes cut equally.
class Subwords {
 public:
  // `bytes`: the model as it stands in a file. `name`: of the file or field, for messages. Throws UserError (kBadData, E0657)
  // where it is no such model.
  Subwords(std::string bytes, const std::string& name);
  ~Subwords();
  Subwords(const Subwords&) = delete;
  Subwords& operator=(const Subwords&) = delete;

  static std::shared_ptr<const Subwords> read(const std::string& path);
  // Made of the texts that `next` gives, one after the other: the same of the same, whatever machine it is. Throws UserError
  // (kBadData, E0657) where they don't give so many pieces or so few.
  static std::shared_ptr<const Subwords> train(const SubwordTraining& training, const TextSource& next);

  const std::string& bytes() const { return bytes_; }
  // The pieces that text may become, by number; the unknown piece and those that no text becomes are left out.
  std::vector<std::string> entries() const;
  // What has no piece stands as it is.
  std::vector<std::string> pieces_of(std::string_view text) const;
  // Whether text may become it.
  bool is_piece(std::string_view entry) const;
  // The text whose pieces these are. What is no piece stands as a word of its own.
  std::string text_of(const std::vector<std::string>& pieces) const;

 private:
  std::string bytes_;
  void* model_ = nullptr;  // the module's
};

}  // namespace graphrun
