#include "tools/text/piece_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "tools/text/piece_model.pb.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

using pieces::PieceModel;

// The library recurses over the bytes of a piece, and may try all of a piece at each byte of a text. spm_train makes pieces of
// up to 512 characters; in a word model, a piece is at most a sentence, of 4192 bytes by default.
constexpr std::size_t kLongestPiece = 8192;
// The library counts the bytes of a normalized text in an int. A line of kLongestLine bytes that each become this many blanks,
// three bytes each in the end, still fits.
constexpr std::size_t kLongestReplacement = 256;
// The sizes of arrays in the library, which hold all rules, or all user-defined symbols, with which a text begins.
constexpr std::size_t kMostRules = 32, kMostSymbols = 64;

// The text of a message: at most a few words.
std::string_view shown(std::string_view text) { return within_bytes(text, 60); }

// A map of characters: the size of a table in bytes, the table, and the replacements, each with a NUL at its end. The table is
// a double-array trie of the texts that are replaced, its keys. At a place p of the trie, keys continue with byte b if unit
// p ^ b has the label b. That unit leads to the next place, and says whether a key ends there; if so, the unit at that place
// says where the replacement begins. Keys may share places.
class CharacterMapCheck {
 public:
  CharacterMapCheck(std::string_view map, const std::string& model, const char* field)
      : model_(model), field_(field), map_(map) {}

  void run() {
    if (map_.empty()) return;
    std::uint32_t bytes = 0;
    if (map_.size() >= sizeof bytes) std::memcpy(&bytes, map_.data(), sizeof bytes);
    if (bytes == 0 || bytes % (kBlock * sizeof(std::uint32_t)) != 0 || bytes >= map_.size() - sizeof bytes) {
      fail(fmt::format("has {} bytes and a table of {}", map_.size(), bytes),
           fmt::format("a table of blocks of {} bytes, with text after it", kBlock * sizeof(std::uint32_t)));
    }
    units_.resize(bytes / sizeof(std::uint32_t));
    std::memcpy(units_.data(), map_.data() + sizeof bytes, bytes);
    replacements_ = map_.substr(sizeof bytes + bytes);
    places_.resize(units_.size());
    next_.resize(units_.size());
    for (std::uint32_t unit = 0; unit < units_.size(); ++unit) {
      if ((units_[unit] & kIsValue) != 0) continue;
      std::uint32_t& first = places_[unit ^ (units_[unit] & 0xFF)].first;
      next_[unit] = std::exchange(first, unit + 1);
    }
    check_reached();
    check_keys();
  }

 private:
  static constexpr std::uint32_t kBlock = 256, kIsValue = std::uint32_t{1} << 31;

  struct Place {
    std::uint32_t first = 0;    // 1 + the last unit that continues from here, 0 if none; next_ has the one before it
    std::uint32_t entries = 0;  // units that lead here from places that a key reaches
    std::uint32_t rules = 0;    // the most keys that end on the way here
    std::uint32_t bytes = 0;    // the most bytes on the way here
  };

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    bad_piece_model(model_, fmt::format("the character map of its {} {}", field_, found), expected);
  }

  bool ends_key(std::uint32_t unit) const { return (units_[unit] >> 8 & 1) != 0; }

  // The place that a unit leads to.
  std::uint32_t target(std::uint32_t unit) const {
    const std::uint32_t place = unit ^ units_[unit] >> 10 << (units_[unit] >> 6 & 8);
    if (place >= units_.size()) {
      fail(fmt::format("leads from unit {} to unit {}", unit, place), fmt::format("a unit below {}", units_.size()));
    }
    return place;
  }

  template <class Visit>
  void each_continuation(std::uint32_t place, const Visit& visit) const {
    for (std::uint32_t unit = places_[place].first; unit != 0; unit = next_[unit - 1]) visit(unit - 1);
  }

  // Finds the places that keys reach, and checks the replacements of the keys.
  void check_reached() {
    std::vector<bool> reached(units_.size());
    std::vector<std::uint32_t> found = {target(0)};
    reached[found.front()] = true;
    while (!found.empty()) {
      const std::uint32_t place = found.back();
      found.pop_back();
      ++reached_;
      each_continuation(place, [&](std::uint32_t unit) {
        const std::uint32_t to = target(unit);
        if (ends_key(unit)) check_replacement(units_[to] & ~kIsValue);
        ++places_[to].entries;
        if (!reached[to]) found.push_back(to);
        reached[to] = true;
      });
    }
  }

  void check_replacement(std::size_t at) const {
    if (at >= replacements_.size()) {
      fail(fmt::format("has a rule whose replacement is at byte {}", at), fmt::format("a byte below {}", replacements_.size()));
    }
    const std::string_view text = replacements_.substr(at, kLongestReplacement + 1);
    const std::size_t size = text.find('\0');
    if (size == std::string_view::npos) {
      fail(fmt::format("has a replacement at byte {} without an end", at),
           fmt::format("a NUL after at most {} bytes", kLongestReplacement));
    }
    if (first_bad_byte(text.substr(0, size))) {
      fail(fmt::format("has a replacement at byte {} that is not UTF-8", at), "UTF-8");
    }
  }

  // In topological order: finds the longest keys, and those with the most keys as beginnings.
  void check_keys() {
    std::size_t passed = 0;
    std::vector<std::uint32_t> ready;
    if (places_[target(0)].entries == 0) ready.push_back(target(0));
    while (!ready.empty()) {
      const std::uint32_t place = ready.back();
      const Place from = places_[place];
      ready.pop_back();
      ++passed;
      if (from.rules > kMostRules || from.bytes > kLongestPiece) {
        fail(fmt::format("has a rule for a text of {} bytes, which begins with {} replaced texts", from.bytes, from.rules),
             fmt::format("at most {} bytes and {} texts", kLongestPiece, kMostRules));
      }
      each_continuation(place, [&](std::uint32_t unit) {
        Place& to = places_[target(unit)];
        to.rules = std::max(to.rules, from.rules + (ends_key(unit) ? 1 : 0));
        to.bytes = std::max(to.bytes, from.bytes + 1);
        if (--to.entries == 0) ready.push_back(target(unit));
      });
    }
    if (passed != reached_) fail("has a loop", "rules for texts of limited length");
  }

  const std::string& model_;
  const char* const field_;
  const std::string_view map_;
  std::string_view replacements_;
  std::vector<std::uint32_t> units_, next_;
  std::vector<Place> places_;
  std::size_t reached_ = 0;
};

void check_piece(const PieceModel::Piece& piece, int number, const std::string& model) {
  const auto fail = [&](const std::string& found, const std::string& expected) {
    bad_piece_model(model, fmt::format("piece {} {}", number, found), expected);
  };
  const std::string_view text = piece.piece();
  if (piece.type() < PieceModel::Piece::NORMAL || piece.type() > PieceModel::Piece::BYTE)
    fail(fmt::format("has type {}", piece.type()), "1 to 6");
  if (text.size() > kLongestPiece) fail(fmt::format("has {} bytes", text.size()), fmt::format("at most {}", kLongestPiece));
  if (const auto bad = first_bad_byte(text)) fail(fmt::format("is not text at its byte {}", *bad), "UTF-8 without NUL");
  if (!std::isfinite(piece.score())) fail(fmt::format("'{}' has the score {}", shown(text), piece.score()), "a finite number");
}

// Checks how many user-defined symbols one text can begin with.
void check_symbols(const PieceModel& model, const std::string& name) {
  std::vector<std::string_view> symbols, beginnings;
  for (const PieceModel::Piece& piece : model.pieces())
    if (piece.type() == PieceModel::Piece::USER_DEFINED) symbols.push_back(piece.piece());
  std::sort(symbols.begin(), symbols.end());
  for (const std::string_view symbol : symbols) {
    while (!beginnings.empty() && !symbol.starts_with(beginnings.back())) beginnings.pop_back();
    beginnings.push_back(symbol);
    if (beginnings.size() > kMostSymbols) {
      bad_piece_model(name, fmt::format("its user-defined symbol '{}' begins with {} others", shown(symbol), kMostSymbols),
                      fmt::format("at most {} symbols with which a text begins", kMostSymbols));
    }
  }
}

}  // namespace

void bad_piece_model(const std::string& name, const std::string& found, const std::string& expected) {
  throw UserError(ExitCode::kBadData, "E0657 bad-subwords", fmt::format("{} is not a SentencePiece model: {}", name, found),
                  {"note: expected " + expected,
                   "help: copy the file once more; vocabulary { size: 8000 } without a model trains one on the training data"});
}

std::string checked_piece_model(std::string_view bytes, const std::string& name) {
  PieceModel model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || model.pieces_size() == 0) {
    bad_piece_model(name, fmt::format("its {} bytes can't be read as a list of pieces", bytes.size()));
  }
  model.DiscardUnknownFields();
  for (int i = 0; i < model.pieces_size(); ++i) check_piece(model.pieces(i), i, name);
  check_symbols(model, name);
  const int kind = model.trainer_spec().model_type();
  if (kind < 1 || kind > 4) bad_piece_model(name, fmt::format("its model_type is {}", kind), "1 to 4");
  CharacterMapCheck(model.normalizer_spec().precompiled_charsmap(), name, "normalizer_spec").run();
  CharacterMapCheck(model.denormalizer_spec().precompiled_charsmap(), name, "denormalizer_spec").run();
  // A text never becomes a control piece. The library fails if a text contains one.
  auto& pieces = *model.mutable_pieces();
  pieces.erase(
      std::remove_if(pieces.begin(), pieces.end(), [](const auto& p) { return p.type() == PieceModel::Piece::CONTROL; }),
      pieces.end());
  return model.SerializeAsString();
}

}  // namespace graphrun
