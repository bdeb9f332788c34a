// SentencePiece models, trained ones and ones with small maps of characters, which split and join texts.
#include <array>
#include <bit>
#include <stdexcept>

#include "tests/character_map.h"
#include "tests/mutants/bytes.h"
#include "tests/mutants/kinds.h"
#include "tools/text/piece_model.pb.h"
#include "tools/text/subwords.h"
#include "tools/text/utf8.h"

namespace graphrun::mutants {
namespace {

using pieces::PieceModel;

const std::string kModel = "model", kText = "text";

// Keys, pieces and texts are made of few characters, so that they meet.
std::string few_characters(tests::Draw& random, std::size_t most) {
  constexpr std::array kFew = {"a", "a", "a", "b", " ", "\u2581", "\u00e9", "\U0001f600"};
  std::string text;
  for (std::size_t size = random.below(most + 1); size > 0; --size) text += random.any(kFew);
  return text;
}

std::string code_point(std::uint32_t code) {
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
  const auto tail = [&](int shift) { return byte(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), tail(0)};
  return {byte(0xE0 | code >> 12), tail(6), tail(0)};
}

std::string any_text(const PieceModel& model, tests::Draw& random) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const std::uint32_t code = static_cast<std::uint32_t>(random.below(random.one_in(2) ? 0x3000 : 0x10000));
    if (code != 0 && code != '\n' && (code < 0xD800 || code > 0xDFFF)) text += code_point(code);
  }
  for (int i = 0; i < 20; ++i) {
    text += few_characters(random, 50);
    if (model.pieces_size() > 0) text += model.pieces(static_cast<int>(random.below(model.pieces().size()))).piece();
  }
  return text;
}

tests::CharacterMap small_map(tests::Draw& random) {
  tests::CharacterMap map;
  for (std::size_t rules = 1 + random.below(4); rules > 0; --rules)
    if (const std::string key = few_characters(random, 4); !key.empty()) map.add(key, few_characters(random, 4));
  if (random.one_in(8)) {
    std::string key;
    for (std::size_t size = 30 + random.below(5); size > 0; --size) map.add(key += 'a', "b");
  }
  return map;
}

std::uint32_t any_bits(tests::Draw& random) {
  constexpr std::array<std::uint32_t, 9> kBits = {0, 1, 4, 0x400, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fc00000, 0xff800000};
  return random.one_in(2) ? random.any(kBits) : static_cast<std::uint32_t>(random.below(std::size_t{1} << 32));
}

void change_map(std::string& map, tests::Draw& random) {
  if (random.one_in(8)) {
    map = mutated_bytes(map, random);
    return;
  }
  // Units that are in use, and sometimes the size before them.
  const std::size_t words = map.size() / 4;
  if (words == 0) return;
  std::size_t at = random.one_in(8) ? 0 : random.below(words);
  std::uint32_t word = 0;
  for (std::size_t tried = 0; tried < words; ++tried, at = (at + 1) % words) {
    std::memcpy(&word, map.data() + 4 * at, 4);
    if (word != tests::CharacterMap::kIsValue) break;
  }
  switch (random.below(4)) {
    case 0: word = any_bits(random); break;
    case 1: word += static_cast<std::uint32_t>(random.between(-4, 4)); break;
    case 2: std::memcpy(&word, map.data() + 4 * random.below(words), 4); break;
    default: word ^= 1u << random.below(32);
  }
  std::memcpy(map.data() + 4 * at, &word, 4);
}

void change_pieces(PieceModel& model, tests::Draw& random) {
  if (model.pieces_size() == 0) return;
  const auto any = [&] { return model.mutable_pieces(static_cast<int>(random.below(model.pieces().size()))); };
  PieceModel::Piece& piece = *any();
  switch (random.below(8)) {
    case 0: piece.set_piece(mutated_bytes(piece.piece(), random)); break;
    case 1: piece.set_piece(any()->piece()); break;
    case 2: piece.set_piece(few_characters(random, random.one_in(4) ? 3000 : 8)); break;
    case 3: piece.set_score(std::bit_cast<float>(any_bits(random))); break;
    case 4: *model.add_pieces() = PieceModel::Piece(piece); break;
    case 5:  // symbols that begin with each other
      for (std::size_t size = 1, most = 60 + random.below(8); size <= most; ++size) {
        PieceModel::Piece& added = *model.add_pieces();
        added.set_piece(std::string(size, 'b'));
        added.set_type(PieceModel::Piece::USER_DEFINED);
      }
      break;
    default: piece.set_type(random.between(0, 7));
  }
}

void change_settings(PieceModel& model, tests::Draw& random) {
  PieceModel::Normalizer& normalizer = *model.mutable_normalizer_spec();
  switch (random.below(7)) {
    case 0: normalizer.set_add_dummy_prefix(random.one_in(2)); break;
    case 1: normalizer.set_remove_extra_whitespaces(random.one_in(2)); break;
    case 2: normalizer.set_escape_whitespaces(random.one_in(2)); break;
    case 3: model.mutable_trainer_spec()->set_treat_whitespace_as_suffix(random.one_in(2)); break;
    case 4: *model.mutable_denormalizer_spec() = normalizer; break;
    case 5:
      model.mutable_trainer_spec()->set_byte_fallback(true);
      for (std::size_t byte = 0; byte < 256; ++byte) {
        constexpr const char* kDigits = "0123456789ABCDEF";
        PieceModel::Piece& piece = *model.add_pieces();
        piece.set_piece(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
        piece.set_type(PieceModel::Piece::BYTE);
      }
      break;
    default: model.mutable_trainer_spec()->set_model_type(random.between(random.one_in(8) ? 0 : 1, 4));
  }
}

class PieceModels : public Kind {
 public:
  PieceModels(const std::string& folder, Children& children) : folder_(folder) {
    for (const auto& [name, kind] : {std::pair("bpe", SubwordKind::kBpe), std::pair("unigram", SubwordKind::kUnigram)}) {
      const Outcome outcome = children.run_one([&, &name = name, &kind = kind] {
        bool more = true;
        const auto trained = Subwords::train({kind, 60, 1, name}, [&](std::string_view& text) {
          text = "the lower house is newer than the lowest house, a new house";
          return std::exchange(more, false);
        });
        write_files(folder, {{name, trained->bytes()}});
      });
      if (outcome.ended != Ended::kAccepted) throw std::runtime_error("training subwords ends with: " + outcome.text);
      sound_.emplace_back().ParseFromString(read_whole(folder + "/" + name));
    }
  }

  Files mutant(tests::Draw& random) const override {
    PieceModel model = random.any(sound_);
    std::string& map = *model.mutable_normalizer_spec()->mutable_precompiled_charsmap();
    if (!random.one_in(4)) map = small_map(random).bytes();
    while (!random.one_in(3)) {
      switch (random.below(4)) {
        case 0: change_settings(model, random); break;
        case 1: change_pieces(model, random); break;
        default: change_map(map, random);
      }
    }
    const std::string bytes = model.SerializeAsString();
    return {{kModel, random.one_in(8) ? mutated_bytes(bytes, random) : bytes}, {kText, any_text(model, random)}};
  }

  void run(const Files& files) const override {
    if (files.count(kModel) == 0) return;
    write_files(folder_, {{kModel, files.at(kModel)}});
    const auto subwords = Subwords::read(folder_ + "/" + kModel);
    const std::vector<std::string> entries = subwords->entries();
    expect_text(entries);
    std::vector<std::string> texts = {"a", "the lowest  house  ", subwords->text_of(entries)};
    if (files.count(kText) != 0) texts.push_back(files.at(kText));
    for (const std::string& text : texts) {
      if (first_bad_byte(text)) continue;  // readers of data refuse it
      const std::vector<std::string> pieces = subwords->pieces_of(text);
      expect_text(pieces);
      expect_text({subwords->text_of(pieces)});
    }
  }

 private:
  static void expect_text(const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      if (first_bad_byte(text)) throw std::logic_error("not UTF-8: " + text);
  }

  const std::string folder_;
  std::vector<PieceModel> sound_;
};

}  // namespace

std::unique_ptr<Kind> make_piece_models(const std::string& folder, Children& children) {
  return std::make_unique<PieceModels>(folder, children);
}

}  // namespace graphrun::mutants
