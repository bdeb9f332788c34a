#include "tests/mutants/graph_text.h"

#include <algorithm>

namespace graphrun::mutants {
namespace {

const std::set<std::string> kExpressions = {"let", "next", "begin", "output", "each", "input", "lengths", "carry"};
const std::set<std::string> kCalls = {"call", "scan", "repeat"};

bool is_string(const Token& token) { return token.kind == TokenClass::kString && token.text.size() >= 2; }
std::string unquoted(const Token& token) { return is_string(token) ? token.text.substr(1, token.text.size() - 2) : token.text; }

std::size_t solid_after(const Tokens& tokens, std::size_t at) {
  for (++at; at < tokens.size() && tokens[at].kind == TokenClass::kSpace; ++at) {
  }
  return at;
}

// A single `=`, not part of a comparison.
bool is_equals(const Tokens& tokens, std::size_t at) {
  if (at >= tokens.size() || tokens[at].text != "=") return false;
  const auto one_of = [&](std::size_t k, const char* any) {
    return k < tokens.size() && tokens[k].text.size() == 1 && std::string(any).find(tokens[k].text[0]) != std::string::npos;
  };
  return !one_of(at + 1, "=") && !(at > 0 && one_of(at - 1, "=<>!"));
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('.')); }

}  // namespace

GraphText::GraphText(const std::string& text, const KnownTypes& types)
    : types_(types), tokens_(tokens_of(text)), inside_(tokens_.size()) {
  find_parts();
  find_expressions();
}

void GraphText::find_parts() {
  std::vector<std::size_t> open;
  for (const Field& field : fields_of(tokens_)) {
    while (!open.empty() && parts_[open.back()].end <= field.begin) open.pop_back();
    Part part;
    static_cast<Field&>(part) = field;
    if (!open.empty()) {
      const Part& around = parts_[open.back()];
      part.parent = open.back();
      part.scope = around.name == "graph" && !is_string(tokens_[around.end - 1]) ? around.begin + 1 : around.scope;
    }
    open.push_back(parts_.size());
    parts_.push_back(part);
  }
}

void GraphText::find_expressions() {
  for (const Part& part : parts_) {
    if (kExpressions.count(part.name) == 0 || !is_string(tokens_[part.end - 1])) continue;
    const std::size_t string = part.end - 1;
    expressions_.push_back(string);
    inside_[string] = tokens_of(std::string_view(tokens_[string].text).substr(1, tokens_[string].text.size() - 2), true);
    find_sites(string, part);
  }
}

void GraphText::find_sites(std::size_t string, const Part& part) {
  const Tokens& inner = inside_[string];
  std::size_t begin = 0;
  std::set<std::string> defines;
  if (part.name == "let") {
    while (begin < inner.size() && !is_equals(inner, begin)) ++begin;
    for (std::size_t i = 0, depth = 0; i < begin; ++i) {
      if (inner[i].text == "[") ++depth;
      if (inner[i].text == "]") --depth;
      if (depth == 0 && inner[i].kind == TokenClass::kWord) defines.insert(inner[i].text);
    }
  } else if (part.parent != Part::kNoPart && kCalls.count(parts_[part.parent].name) != 0) {
    if (const std::string name = text_of(part.parent, "name"); !name.empty()) defines.insert(name);
  }
  for (const std::string& defined : defines) reads_[{part.scope, defined}];
  for (std::size_t at = begin; at < inner.size(); ++at) {
    if (inner[at].kind != TokenClass::kWord) continue;
    const std::size_t next = solid_after(inner, at);
    if (is_equals(inner, next) || (next < inner.size() && inner[next].text == "(")) continue;
    const std::string& name = inner[at].text;
    for (const std::string& defined : defines) reads_[{part.scope, defined}].insert(first_part(name));
    Site site;
    site.string = string, site.at = at, site.name = name, site.scope = part.scope, site.defines = defines;
    site.type = types_.find(name, part.scope == 0);
    if (site.type != nullptr) sites_.push_back(std::move(site));
  }
}

std::vector<std::size_t> GraphText::parts_of(const std::set<std::string>& names) const {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const std::size_t parent = parts_[k].parent;
    if (names.count(parts_[k].name) != 0 && (parent == Part::kNoPart || parts_[parent].name == "graph")) found.push_back(k);
  }
  return found;
}

std::string GraphText::text_of(std::size_t part, const std::string& name) const {
  for (std::size_t k = part + 1; k < parts_.size() && parts_[k].begin < parts_[part].end; ++k)
    if (parts_[k].parent == part && parts_[k].name == name) return unquoted(tokens_[parts_[k].end - 1]);
  return "";
}

std::size_t GraphText::scope_of(std::size_t string) const {
  std::size_t scope = 0;
  for (const Part& part : parts_)
    if (part.begin <= string && string < part.end) scope = part.scope;
  return scope;
}

bool GraphText::depends(std::size_t scope, const std::string& name, const std::set<std::string>& on,
                        std::set<std::string>& seen) const {
  if (on.count(name) != 0) return true;
  if (!seen.insert(name).second) return false;
  const auto reads = reads_.find({scope, name});
  return reads != reads_.end() && std::any_of(reads->second.begin(), reads->second.end(),
                                              [&](const std::string& read) { return depends(scope, read, on, seen); });
}

std::vector<GraphText::Name> GraphText::names(std::size_t scope, const std::set<std::string>& without) const {
  std::map<std::string, const ir::TensorType*> found;
  const auto offer = [&](const std::string& name) {
    if (const ir::TensorType* type = types_.find(name, scope == 0)) found.emplace(name, type);
  };
  for (const Site& site : sites_)
    if (site.scope == scope) offer(site.name);
  for (const auto& [name, reads] : reads_)
    if (name.first == scope) offer(name.second);
  for (const std::size_t k : parts_of({"input", "parameter", "state"}))
    if (parts_[k].scope == scope) offer(text_of(k, "name"));
  std::vector<Name> names;
  for (const auto& [name, type] : found) {
    std::set<std::string> seen;
    if (!depends(scope, first_part(name), without, seen)) names.push_back({name, type});
  }
  return names;
}

std::string GraphText::text(std::size_t begin, std::size_t end) const {
  std::string all;
  for (std::size_t k = begin; k < end; ++k)
    all += inside_[k].empty() ? tokens_[k].text : tokens_[k].text.front() + joined(inside_[k]) + tokens_[k].text.back();
  return all;
}

std::string GraphText::with_lines(std::size_t scope, const std::vector<std::string>& lines) const {
  std::string added = "\n";
  for (const std::string& line : lines) added += line + "\n";
  if (scope == 0) return text() + added;
  // After the bracket that opens the graph's message.
  std::size_t at = scope - 1;
  while (at < tokens_.size() && tokens_[at].text != "{") ++at;
  at = std::min(at + 1, tokens_.size());
  return text(0, at) + added + text(at, tokens_.size());
}

std::string GraphText::without(const Part& part) const { return with(part, ""); }

std::string GraphText::with(const Part& part, const std::string& by) const {
  return text(0, part.begin) + by + text(part.end, tokens_.size());
}

}  // namespace graphrun::mutants
