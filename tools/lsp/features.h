// What the server answers about a file. Positions and ranges are in the form of the protocol; `null` means that there is
// nothing to say.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tools/lsp/analysis.h"
#include "tools/lsp/documents.h"
#include "tools/lsp/occurrences.h"

namespace graphrun::lsp {

// What features ask of the server: analyses of the current texts, kept until a text changes.
class Workspace {
 public:
  virtual ~Workspace() = default;
  virtual const Documents& documents() const = 0;
  virtual Encoding encoding() const = 0;
  virtual const Analysis& analysis(const std::string& path, Depth depth) = 0;
  // The graphs and jobs that may name those of a file: its project's, and open documents.
  virtual std::vector<std::string> files_near(const std::string& path) = 0;
};

// A place in a document.
struct Cursor {
  std::string path;
  std::size_t offset = 0;
};

Json range_json(std::string_view text, std::size_t begin, std::size_t end, Encoding encoding);
// The range of a location in the text of its file.
Json range_json(std::string_view text, const Location& at, Encoding encoding);

Json hover(Workspace& workspace, const Cursor& at);
Json completion(Workspace& workspace, const Cursor& at);
Json definition(Workspace& workspace, const Cursor& at);
Json references(Workspace& workspace, const Cursor& at, bool with_declaration);
Json highlights(Workspace& workspace, const Cursor& at);
Json prepare_rename(Workspace& workspace, const Cursor& at);
// Throws ResponseError if there is nothing to rename, or the name is not one.
Json rename(Workspace& workspace, const Cursor& at, const std::string& name);
Json document_symbols(Workspace& workspace, const std::string& path);
Json formatting(Workspace& workspace, const std::string& path);

// The diagnostics of a file as the editor shows them. A mistake in another file is shown where this one leads to it.
Json diagnostics_json(const Documents& documents, const std::string& path, const std::vector<Diagnostic>& diagnostics,
                      Encoding encoding);
// Changes that a file's mistakes suggest, for those in a range.
Json code_actions(Workspace& workspace, const std::string& path, std::size_t begin, std::size_t end);

}  // namespace graphrun::lsp
