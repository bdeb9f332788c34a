#include "tests/mutants/minimize.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/mutants/tokens.h"

namespace graphrun::mutants {
namespace {

using Pieces = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostTokens = 20000;

std::string all_of(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

Pieces lines_with_ends(const std::string& text) {
  Pieces lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

// Tokens; for strings, the tokens inside them.
Pieces all_tokens(const std::string& text) {
  Pieces pieces;
  for (const Token& token : tokens_of(text)) {
    if (token.kind != TokenClass::kString || token.text.size() < 2) {
      pieces.push_back(token.text);
      continue;
    }
    // Keep each quote with the adjacent token, or a cut string would swallow the rest.
    std::string before(1, token.text.front());
    for (const Token& inner : tokens_of(std::string_view(token.text).substr(1, token.text.size() - 2), true)) {
      if (!before.empty()) pieces.push_back(before);
      before.clear();
      pieces.push_back(inner.text);
    }
    pieces.push_back(before + token.text.back());
  }
  return pieces;
}

// Removes smaller and smaller runs of pieces as long as `holds` is true for the rest.
Pieces fewer(Pieces pieces, const std::function<bool(const std::string&)>& holds, Clock::time_point end) {
  for (std::size_t size = std::max<std::size_t>(1, pieces.size() / 2); size > 0; size /= 2) {
    for (std::size_t at = 0; at < pieces.size();) {
      if (Clock::now() > end) return pieces;
      Pieces rest(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(at));
      rest.insert(rest.end(), pieces.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, pieces.size())), pieces.end());
      if (holds(all_of(rest))) {
        pieces = std::move(rest);
      } else {
        at += size;
      }
    }
  }
  return pieces;
}

}  // namespace

Files minimized(Files files, const std::function<bool(const Files&)>& still, double seconds) {
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(static_cast<int>(seconds * 1000));
  for (const auto& [name, bytes] : Files(files)) {
    Files without = files;
    without.erase(name);
    if (!without.empty() && still(without)) files = std::move(without);
  }
  for (const auto& [name, bytes] : Files(files)) {
    const auto holds = [&, &name = name](const std::string& changed) {
      Files tried = files;
      tried[name] = changed;
      return still(tried);
    };
    files[name] = all_of(fewer(lines_with_ends(files[name]), holds, end));
    if (Pieces tokens = all_tokens(files[name]); tokens.size() <= kMostTokens)
      files[name] = all_of(fewer(std::move(tokens), holds, end));
  }
  return files;
}

}  // namespace graphrun::mutants
