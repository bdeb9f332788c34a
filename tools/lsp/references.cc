// Go to definition, references, highlights and rename, from the occurrences of names.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

#include "tools/lsp/features.h"

namespace graphrun::lsp {
namespace {

struct Found {
  std::string path;
  Occurrence occurrence;
};

// The offsets of an occurrence in its file.
std::pair<std::size_t, std::size_t> span_of_name(const TextPositions& positions, const Location& at) {
  const std::size_t begin = positions.offset_of_byte(at.line, at.column);
  return {begin, begin + static_cast<std::size_t>(at.length)};
}

// The names at a place; of a binding without "name =" what it reads comes first.
std::vector<Occurrence> occurrences_at(Workspace& workspace, const Cursor& at) {
  const Analysis& a = workspace.analysis(at.path, Depth::kNames);
  const TextPositions positions(a.text);
  std::vector<Occurrence> found;
  for (const Occurrence& o : occurrences_of(a)) {
    const auto [begin, end] = span_of_name(positions, o.at);
    if (at.offset < begin || at.offset > end) continue;
    if (o.shortened == Occurrence::Short::kRead) {
      found.insert(found.begin(), o);
    } else {
      found.push_back(o);
    }
  }
  return found;
}

// Whether a file may have that name, perhaps in parts: protobuf joins adjacent texts, and characters may be escaped.
bool may_have(std::string text, const std::string& name) {
  if (text.find(name) != std::string::npos || text.find('\\') != std::string::npos) return true;
  std::erase_if(text, [](unsigned char c) { return c == '"' || c == '\'' || std::isspace(c) != 0; });
  return text.find(name) != std::string::npos;
}

// The declaration of an output that reads a name of the same name is not what a reader of it means; all others are one thing.
std::vector<Found> all_of(Workspace& workspace, const SymbolKey& symbol) {
  std::vector<Found> out;
  std::vector<std::string> files = workspace.files_near(file_of(symbol));
  for (const std::string& path : files) {
    if (!symbol.name.empty() && !may_have(workspace.documents().text_of(path), symbol.name)) continue;
    for (const Occurrence& o : occurrences_of(workspace.analysis(path, Depth::kNames))) {
      if (o.symbol == symbol) out.push_back({path, o});
    }
  }
  return out;
}

Json location_json(Workspace& workspace, const Found& found) {
  const Documents& documents = workspace.documents();
  return {{"uri", documents.uri_of(found.path)},
          {"range", range_json(documents.text_of(found.path), found.occurrence.at, workspace.encoding())}};
}

bool is_name(const std::string& text) {
  static const std::set<std::string> kReserved = {"end",  "next", "step", "history", "index", "if",
                                                  "else", "and",  "or",   "not",     "true",  "false"};
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 && kReserved.count(text) == 0 &&
         std::all_of(text.begin(), text.end(), part_of_name);
}

// Changes of a file: by the offset where it begins, the end of what is replaced and the new text.
using Edits = std::map<std::size_t, std::pair<std::size_t, std::string>>;

std::string edited(std::string text, const Edits& edits) {
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
    const auto& [end, inserted] = edit->second;
    text.replace(edit->first, end - edit->first, inserted);
  }
  return text;
}

// What the names of a file stand for, in their order, with another name for a symbol.
std::vector<std::pair<SymbolKey, bool>> meanings_of(const Analysis& a, const SymbolKey& renamed, const std::string& name) {
  std::vector<Occurrence> all = occurrences_of(a);
  // A binding without "name =" has the order of "bound = read", which it may become.
  const auto order = [](const Occurrence& o) {
    const bool bound = o.shortened == Occurrence::Short::kBound;
    return std::tuple(o.at.line, o.at.column - (bound ? static_cast<int>(o.before) : 0), !bound);
  };
  std::stable_sort(all.begin(), all.end(), [&](const Occurrence& x, const Occurrence& y) { return order(x) < order(y); });
  std::vector<std::pair<SymbolKey, bool>> out;
  for (const Occurrence& o : all) {
    out.emplace_back(o.symbol, o.declares);
    if (o.symbol == renamed) out.back().first.name = name;
  }
  return out;
}

// Whether everything else in the files still stands for what it did. Local graphs read args and imports of the graphs around
// them, so a name that is new in one graph may hide another one's, or be hidden.
bool keeps_meanings(Workspace& workspace, const SymbolKey& symbol, const std::string& name,
                    const std::map<std::string, Edits>& edits) {
  const Documents& documents = workspace.documents();
  std::map<std::string, std::vector<std::pair<SymbolKey, bool>>> expected;
  for (const auto& [path, unused] : edits) {
    expected[path] = meanings_of(workspace.analysis(path, Depth::kNames), symbol, name);
  }
  const struct Restored {
    const Documents& documents;
    ~Restored() { documents.share(); }
  } restored{documents};
  Documents changed = documents;
  for (const auto& [path, of_file] : edits) changed.set_text(path, edited(documents.text_of(path), of_file));
  return std::all_of(expected.begin(), expected.end(), [&](const auto& file) {
    return meanings_of(*analyze(file.first, changed, Depth::kNames), symbol, name) == file.second;
  });
}

}  // namespace

Json definition(Workspace& workspace, const Cursor& at) {
  Json out = Json::array();
  for (const Occurrence& o : occurrences_at(workspace, at)) {
    const std::string file = file_of(o.symbol);
    bool declared = false;
    for (const Occurrence& other : occurrences_of(workspace.analysis(file, Depth::kNames))) {
      if (other.symbol != o.symbol || !other.declares) continue;
      const Json location = location_json(workspace, {file, other});
      if (std::find(out.begin(), out.end(), location) == out.end()) out.push_back(location);
      declared = true;
    }
    // A size is declared where it is first written.
    if (!declared && o.symbol.kind == SymbolKey::Kind::kSize) {
      for (const Occurrence& other : occurrences_of(workspace.analysis(file, Depth::kNames))) {
        if (other.symbol != o.symbol) continue;
        out.push_back(location_json(workspace, {file, other}));
        break;
      }
    }
  }
  return out;
}

Json references(Workspace& workspace, const Cursor& at, bool with_declaration) {
  Json out = Json::array();
  std::set<SymbolKey> seen;
  for (const Occurrence& o : occurrences_at(workspace, at)) {
    if (!seen.insert(o.symbol).second) continue;
    for (const Found& found : all_of(workspace, o.symbol)) {
      if (found.occurrence.declares && !with_declaration) continue;
      const Json location = location_json(workspace, found);
      if (std::find(out.begin(), out.end(), location) == out.end()) out.push_back(location);
    }
  }
  return out;
}

Json highlights(Workspace& workspace, const Cursor& at) {
  Json out = Json::array();
  const std::vector<Occurrence> here = occurrences_at(workspace, at);
  if (here.empty()) return out;
  const Analysis& a = workspace.analysis(at.path, Depth::kNames);
  for (const Occurrence& o : occurrences_of(a)) {
    if (o.symbol != here.front().symbol) continue;
    out.push_back({{"range", range_json(a.text, o.at, workspace.encoding())}, {"kind", o.declares ? 3 : 2}});
  }
  return out;
}

Json prepare_rename(Workspace& workspace, const Cursor& at) {
  for (const Occurrence& o : occurrences_at(workspace, at)) {
    if (o.symbol.name.empty()) continue;
    const Analysis& a = workspace.analysis(at.path, Depth::kNames);
    return {{"range", range_json(a.text, o.at, workspace.encoding())}, {"placeholder", o.symbol.name}};
  }
  return nullptr;
}

Json rename(Workspace& workspace, const Cursor& at, const std::string& name) {
  if (!is_name(name)) {
    throw ResponseError{ErrorCode::kRequestFailed,
                        "'" + name +
                            "' is not a valid name: a name consists of letters, digits and _, does not begin with a "
                            "digit, and is not a reserved word"};
  }
  const Occurrence* chosen = nullptr;
  const std::vector<Occurrence> here = occurrences_at(workspace, at);
  for (const Occurrence& o : here) {
    if (!o.symbol.name.empty() && chosen == nullptr) chosen = &o;
  }
  if (chosen == nullptr) throw ResponseError{ErrorCode::kRequestFailed, "there is no name to change here"};
  const SymbolKey symbol = chosen->symbol;
  const std::vector<Found> all = all_of(workspace, symbol);
  const auto refuse = [&] { throw ResponseError{ErrorCode::kRequestFailed, "'" + name + "' is already a name there"}; };
  for (const Occurrence& o : occurrences_of(workspace.analysis(file_of(symbol), Depth::kNames))) {
    const bool same_space = o.symbol.graph == symbol.graph && o.symbol.kind == symbol.kind;
    const bool names =
        o.symbol.graph == symbol.graph && symbol.kind == SymbolKey::Kind::kSize && o.symbol.kind == SymbolKey::Kind::kName;
    if (o.symbol.name == name && (same_space || names)) refuse();
  }
  std::map<std::string, Edits> edits;  // by file
  for (const auto& [path, o] : all) {
    const std::string& text = workspace.analysis(path, Depth::kNames).text;
    const auto [begin, end] = span_of_name(TextPositions(text), o.at);
    if (begin > text.size() || std::string_view(text).substr(begin, end - begin) != symbol.name) {
      throw ResponseError{ErrorCode::kRequestFailed,
                          fmt::format("'{}' is written in parts, or with escapes, at {}: write it as one word, then rename it",
                                      symbol.name, o.at.str())};
    }
    // One name that stands for two becomes "bound = read", unless both are renamed to the same.
    if (o.shortened != Occurrence::Short::kNo) {
      bool both = false;
      for (const auto& [other_path, other] : all) {
        both |= other_path == path && other.at.line == o.at.line && other.at.column == o.at.column &&
                other.shortened != o.shortened;
      }
      if (!both) {
        const std::size_t first = begin - o.before;
        const std::string prefix = text.substr(first, o.before);
        if (o.shortened == Occurrence::Short::kBound) {
          edits[path][first] = {first, name + " = "};
        } else {
          edits[path][first] = {end, symbol.name + " = " + prefix + name};
        }
        continue;
      }
    }
    edits[path][begin] = {end, name};
  }
  if (!keeps_meanings(workspace, symbol, name, edits)) {
    throw ResponseError{ErrorCode::kRequestFailed,
                        fmt::format("renaming '{}' to '{}' would change what other names mean", symbol.name, name)};
  }
  Json changes = Json::object();
  for (const auto& [path, by_offset] : edits) {
    const std::string text = workspace.documents().text_of(path);
    Json list = Json::array();
    for (const auto& [begin, edit] : by_offset) {
      list.push_back({{"range", range_json(text, begin, edit.first, workspace.encoding())}, {"newText", edit.second}});
    }
    changes[workspace.documents().uri_of(path)] = std::move(list);
  }
  return {{"changes", std::move(changes)}};
}

}  // namespace graphrun::lsp
