// SentencePiece models whose tables are wrong are refused before the library reads them.
#include "tools/text/piece_model.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/character_map.h"
#include "tests/tools/scratch.h"
#include "tools/text/piece_model.pb.h"
#include "tools/text/subwords.h"

namespace graphrun {
namespace {

using pieces::PieceModel;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::CharacterMap;

void add_piece(PieceModel& model, const std::string& text, PieceModel::Piece::Type type = PieceModel::Piece::NORMAL) {
  PieceModel::Piece& piece = *model.add_pieces();
  piece.set_piece(text);
  piece.set_type(type);
}

void set_map(PieceModel& model, const CharacterMap& map) {
  model.mutable_normalizer_spec()->set_precompiled_charsmap(map.bytes());
}

// Splits text into the characters a and b, and changes A to a.
PieceModel small_model() {
  PieceModel model;
  model.mutable_trainer_spec()->set_model_type(4);
  model.mutable_normalizer_spec()->set_add_dummy_prefix(false);
  add_piece(model, "<unk>", PieceModel::Piece::UNKNOWN);
  add_piece(model, "a");
  add_piece(model, "b");
  CharacterMap map;
  map.add("A", "a");
  set_map(model, map);
  return model;
}

std::vector<std::string> split(const PieceModel& model, const std::string& text) {
  return Subwords(model.SerializeAsString(), "'m'").pieces_of(text);
}

std::string refusal(const PieceModel& model) {
  return message_of([&] { checked_piece_model(model.SerializeAsString(), "'m'"); });
}

// A map in which `size` texts that begin with each other are replaced.
PieceModel nested_rules(std::size_t size) {
  CharacterMap map;
  for (std::size_t i = 1; i <= size; ++i) map.add(std::string(i, 'A'), "a");
  PieceModel model = small_model();
  set_map(model, map);
  return model;
}

PieceModel nested_symbols(std::size_t size) {
  PieceModel model = small_model();
  for (std::size_t i = 1; i <= size; ++i) add_piece(model, std::string(i, 'c'), PieceModel::Piece::USER_DEFINED);
  return model;
}

PieceModel replaced_by(const std::string& text) {
  CharacterMap map;
  map.add("A", text);
  PieceModel model = small_model();
  set_map(model, map);
  return model;
}

PieceModel with_piece(const std::string& text) {
  PieceModel model = small_model();
  add_piece(model, text);
  return model;
}

TEST(PieceModels, SplitTextUpToTheLimits) {
  EXPECT_THAT(split(small_model(), "Ab"), ElementsAre("a", "b"));
  EXPECT_THAT(split(nested_rules(32), std::string(33, 'A')), ElementsAre("a", "a"));
  EXPECT_THAT(split(nested_symbols(64), std::string(65, 'c')), ElementsAre(std::string(64, 'c'), "c"));
  EXPECT_EQ(split(replaced_by(std::string(256, 'a')), "A").size(), 256u);
  EXPECT_THAT(split(with_piece(std::string(8192, 'c')), "a"), ElementsAre("a"));
}

TEST(PieceModels, ShareThePlacesOfTheirMaps) {
  CharacterMap map;
  const std::uint32_t unit = map.add("AB", "ab");
  map.lead(CharacterMap::kBlock + 'C', unit - 'B', 'C');
  PieceModel model = small_model();
  set_map(model, map);
  EXPECT_THAT(split(model, "CBAB"), ElementsAre("a", "b", "a", "b"));
}

// The library fails on a text that is one.
TEST(PieceModels, ControlPiecesArePartsOfNoText) {
  PieceModel model = small_model();
  add_piece(model, "c", PieceModel::Piece::CONTROL);
  EXPECT_THAT(split(model, "abc"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Subwords(model.SerializeAsString(), "'m'").entries(), ElementsAre("a", "b"));
}

TEST(PieceModels, BeyondTheLimits) {
  EXPECT_THAT(refusal(nested_rules(33)), HasSubstr("a rule for a text of 33 bytes, which begins with 33 replaced texts"));
  EXPECT_THAT(refusal(nested_symbols(65)), HasSubstr("begins with 64 others"));
  EXPECT_THAT(refusal(replaced_by(std::string(257, 'a'))), HasSubstr("a replacement at byte 0 without an end"));
  EXPECT_THAT(refusal(with_piece(std::string(8193, 'c'))), HasSubstr("piece 3 has 8193 bytes"));
}

TEST(PieceModels, PiecesThatAreNoText) {
  EXPECT_THAT(refusal(with_piece("a\xff")), AllOf(HasSubstr("piece 3 is not text at its byte 1"), HasSubstr("'m'")));
  EXPECT_THAT(refusal(with_piece(std::string("ab\0", 3))), HasSubstr("piece 3 is not text at its byte 2"));
  PieceModel model = small_model();
  model.mutable_pieces(1)->set_score(std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(refusal(model), HasSubstr("piece 1 'a' has the score nan"));
  model = small_model();
  model.mutable_pieces(2)->set_type(7);
  EXPECT_THAT(refusal(model), HasSubstr("piece 2 has type 7"));
  model = small_model();
  model.mutable_trainer_spec()->set_model_type(5);
  EXPECT_THAT(refusal(model), HasSubstr("its model_type is 5"));
}

TEST(PieceModels, WhatTheLibraryItselfRefuses) {
  const auto why = [](const PieceModel& model) { return message_of([&] { split(model, "a"); }); };
  EXPECT_THAT(why(with_piece("a")),
              AllOf(HasSubstr("E0657 bad-subwords"), HasSubstr("'m'"), HasSubstr("a is already defined")));
  EXPECT_THAT(why(with_piece("")), HasSubstr("piece must not be empty"));
}

TEST(PieceModels, MapsThatLeadOutside) {
  PieceModel model = small_model();
  const auto refused = [&](auto change) {
    CharacterMap map;
    change(map, map.add("A", "a"));
    set_map(model, map);
    return refusal(model);
  };
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t unit) { map.lead(unit, 768, 'A'); }),
              HasSubstr("the character map of its normalizer_spec leads from unit 321 to unit 768"));
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t) { map.lead(0, 768, 0); }),
              HasSubstr("leads from unit 0 to unit 768"));
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t unit) { map.units[unit] |= 1u << 9; }),
              HasSubstr("leads from unit 321 to unit "));
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t unit) { map.lead(unit, CharacterMap::kBlock, 'A'); }),
              HasSubstr("has a loop"));
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t) { map.units[2 * CharacterMap::kBlock] += 2; }),
              HasSubstr("a rule whose replacement is at byte 2"));
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t) { map.replacements = "a"; }),
              HasSubstr("a replacement at byte 0 without an end"));
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t) { map.replacements[0] = '\xff'; }),
              HasSubstr("a replacement at byte 0 that is not UTF-8"));
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t) { map.units.push_back(0); }), HasSubstr("and a table of 3076"));
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t) { map.replacements.clear(); }), HasSubstr("and a table of 3072"));
  EXPECT_THAT(refused([](CharacterMap& map, std::uint32_t) { map.units.clear(); }), HasSubstr("and a table of 0"));
  *model.mutable_denormalizer_spec() = model.normalizer_spec();
  model.clear_normalizer_spec();
  EXPECT_THAT(refusal(model), HasSubstr("the character map of its denormalizer_spec"));
}

}  // namespace
}  // namespace graphrun
