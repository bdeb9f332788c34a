#include "tests/mutants/text.h"

#include <algorithm>
#include <array>

#include "tests/mutants/bytes.h"

namespace graphrun::mutants {
namespace {

constexpr std::array kNumbers = {"0",
                                 "1",
                                 "2",
                                 "3",
                                 "7",
                                 "-1",
                                 "0.5",
                                 "1e-30",
                                 "1e30",
                                 "65535",
                                 "65536",
                                 "1000000",
                                 "-0.0",
                                 "2147483647",
                                 "2147483648",
                                 "4294967296",
                                 "1000003",
                                 "nan",
                                 "inf",
                                 "0x10",
                                 "1e400",
                                 "100000000",
                                 "017",
                                 "9223372036854775807",
                                 "1.5e",
                                 "3037000500",
                                 "-2147483648",
                                 "9223372036854775808",
                                 "18446744073709551616"};
constexpr std::array kOperators = {"+", "-", "*", "/", "@", "^",  "(", ")", "[", "]", "{", "}", ":",  ",",
                                   ".", "=", "<", ">", "'", "\"", "|", "&", "!", "?", ";", "~", "\\", "%"};

std::vector<std::size_t> solid(const Tokens& tokens) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].kind != TokenClass::kSpace && tokens[i].kind != TokenClass::kComment) places.push_back(i);
  return places;
}

void insert(Tokens& tokens, std::size_t at, const Tokens& part) {
  tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), part.begin(), part.end());
}

Tokens part_of(const Tokens& tokens, const Field& field) {
  Tokens part(tokens.begin() + static_cast<std::ptrdiff_t>(field.begin),
              tokens.begin() + static_cast<std::ptrdiff_t>(field.end));
  part.push_back({TokenClass::kSpace, "\n"});
  return part;
}

void erase(Tokens& tokens, const Field& field) {
  tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(field.begin),
               tokens.begin() + static_cast<std::ptrdiff_t>(field.end));
}

// Adds brackets around it, once, or often enough that recursive code must limit its depth.
std::string nested(const std::string& text, tests::Draw& random) {
  const std::size_t depth = random.any(std::array<std::size_t, 6>{1, 1, 2, 60, 300, 20000});
  const auto [open, close] =
      random.any(std::array<std::pair<const char*, const char*>, 4>{{{"(", ")"}, {"-(", ")"}, {"tanh(", ")"}, {"next(", ")"}}});
  std::string all;
  for (std::size_t i = 0; i < depth; ++i) all += open;
  all += text;
  for (std::size_t i = 0; i < depth; ++i) all += close;
  return all;
}

}  // namespace

void TextParts::add(const std::string& text) {
  texts_.push_back(text);
  const Tokens tokens = tokens_of(text);
  for (const Field& field : fields_of(tokens)) {
    std::vector<Tokens>& known = fields_[field.name];
    if (known.empty()) field_names_.push_back(field.name);
    known.push_back(part_of(tokens, field));
  }
  for (const Token& token : tokens) {
    if (token.kind == TokenClass::kWord) words_.push_back(token.text);
    if (token.kind != TokenClass::kString || token.text.size() < 2) continue;
    strings_.push_back(token.text);
    for (const Token& inner : tokens_of(std::string_view(token.text).substr(1, token.text.size() - 2), true))
      if (inner.kind == TokenClass::kWord) expression_words_.push_back(inner.text);
  }
}

std::string TextParts::other_of(TokenClass kind, bool expression, tests::Draw& random) const {
  switch (kind) {
    case TokenClass::kNumber: return random.any(kNumbers);
    case TokenClass::kWord: return random.any(expression ? expression_words_ : words_);
    case TokenClass::kString: return random.any(strings_);
    default: return random.any(kOperators);
  }
}

void TextParts::change_token(Tokens& tokens, std::size_t at, bool expression, tests::Draw& random) const {
  Token& token = tokens[at];
  if (token.kind == TokenClass::kString && token.text.size() >= 2 && !random.one_in(5)) {
    Tokens inner = tokens_of(std::string_view(token.text).substr(1, token.text.size() - 2), true);
    const std::vector<std::size_t> places = solid(inner);
    if (!places.empty()) {
      change_token(inner, random.any(places), true, random);
      token.text = token.text.front() + joined(inner) + token.text.back();
      return;
    }
  }
  const auto offset = static_cast<std::ptrdiff_t>(at);
  switch (random.below(8)) {
    case 0: tokens.erase(tokens.begin() + offset); break;
    case 1: insert(tokens, at, {token, {TokenClass::kSpace, " "}}); break;
    case 2: std::swap(token, tokens[random.any(solid(tokens))]); break;
    case 3: {
      const TokenClass kind = random.any(std::array{TokenClass::kWord, TokenClass::kNumber, TokenClass::kPunctuation});
      insert(tokens, at, {{kind, " " + other_of(kind, expression, random) + " "}});
      break;
    }
    case 4:
      if (expression) {
        token.text = nested(token.text, random);
        break;
      }
      [[fallthrough]];
    default: token.text = other_of(token.kind, expression, random);
  }
}

bool TextParts::change_fields(Tokens& tokens, tests::Draw& random) const {
  const std::vector<Field> fields = fields_of(tokens);
  if (fields.empty()) return false;
  const Field field = random.any(fields);
  switch (random.below(6)) {
    case 0: erase(tokens, field); break;
    case 1: insert(tokens, field.end, part_of(tokens, field)); break;
    case 2: {  // moves it, or inserts a copy elsewhere
      const Tokens part = part_of(tokens, field);
      const Field to = random.any(fields);
      if (to.begin >= field.end) {
        insert(tokens, to.begin, part);
        if (random.one_in(2)) erase(tokens, field);
      } else if (to.end <= field.begin) {
        if (random.one_in(2)) erase(tokens, field);
        insert(tokens, to.begin, part);
      } else {
        insert(tokens, random.one_in(2) ? to.begin : to.end, part);
      }
      break;
    }
    case 3:
    case 4: {  // another field of its name
      const auto known = fields_.find(field.name);
      if (known == fields_.end()) return false;
      const Tokens part = random.any(known->second);
      erase(tokens, field);
      insert(tokens, field.begin, part);
      break;
    }
    default: {  // usually a name that occurs in this file
      const std::string& name = random.one_in(4) ? random.any(field_names_) : random.any(fields).name;
      if (const auto known = fields_.find(name); known != fields_.end()) insert(tokens, field.begin, random.any(known->second));
    }
  }
  return true;
}

void TextParts::change(Tokens& tokens, tests::Draw& random) const {
  if (random.one_in(3) && change_fields(tokens, random)) return;
  std::vector<std::size_t> places = solid(tokens);
  if (places.empty()) return;
  if (random.one_in(8)) {
    // Replace one name, everywhere or in some places, by another existing one: two things then have the same name.
    std::erase_if(places, [&](std::size_t i) { return tokens[i].kind != TokenClass::kString; });
    if (places.empty()) return;
    const std::string from = tokens[random.any(places)].text, to = tokens[random.any(places)].text;
    const std::size_t share = 1 + random.below(2);
    for (const std::size_t i : places)
      if (tokens[i].text == from && random.one_in(share)) tokens[i].text = to;
    return;
  }
  // Changes outside of strings soon break the text format.
  if (!random.one_in(8)) std::erase_if(places, [&](std::size_t i) { return tokens[i].kind != TokenClass::kString; });
  if (!places.empty()) change_token(tokens, random.any(places), false, random);
}

std::string TextParts::exchanged(const std::string& text, tests::Draw& random) const {
  Tokens tokens = tokens_of(text);
  do {
    const std::vector<Field> fields = fields_of(tokens);
    if (fields.empty()) break;
    const Field field = random.any(fields);
    if (const auto known = fields_.find(field.name); known != fields_.end()) {
      const Tokens part = random.any(known->second);
      erase(tokens, field);
      insert(tokens, field.begin, part);
    }
  } while (!random.one_in(2));
  return joined(tokens);
}

std::string TextParts::mutated(const std::string& text, tests::Draw& random) const {
  if (random.one_in(40)) return mutated_bytes(text, random);
  Tokens tokens = tokens_of(text);
  do {
    change(tokens, random);
  } while (!random.one_in(2));
  return joined(tokens);
}

}  // namespace graphrun::mutants
