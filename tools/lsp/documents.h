// The files that the editor has open, with their unsaved texts, and all other files as they are on disk.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tools/lsp/messages.h"
#include "tools/lsp/text_positions.h"

namespace graphrun::lsp {

struct Document {
  std::string uri, path;  // the path with links resolved
  std::string text;
  Json version;  // the editor's number of the text, or null
};

// The path of a file: URI, with links resolved; for any other URI ("untitled:Untitled-1"), one in the current folder.
std::string path_of_uri(const std::string& uri);
std::string uri_of_path(const std::string& path);
// With links resolved as far as there are files.
std::string resolved_path(const std::string& path);

class Documents {
 public:
  // The parameters of the notifications textDocument/didOpen, didChange and didClose. Throw nlohmann::json::exception for
  // parameters of another form, and std::out_of_range for a document that is not open. Each makes the text known to
  // read_source.
  void open(const Json& parameters);
  void change(const Json& parameters, Encoding encoding);
  void close(const Json& parameters);

  const Document* find(const std::string& path) const;  // null if it is not open
  const std::map<std::string, Document>& all() const { return documents_; }
  // The text of an open document, else of the file; empty if it cannot be read.
  std::string text_of(const std::string& path) const;
  std::string uri_of(const std::string& path) const;  // the editor's own for an open document
  // Counts changes: an answer is about the texts of one revision.
  std::uint64_t revision() const { return revision_; }
  void touch() { ++revision_; }                                     // a file on disk has changed
  void set_text(const std::string& path, const std::string& text);  // opens the document if it is not
  // Replaces one text in what read_source reads; share() undoes it.
  void share_with(const std::string& path, const std::string& text) const;
  void share() const;

 private:
  std::map<std::string, Document> documents_;  // by path
  std::uint64_t revision_ = 1;
};

}  // namespace graphrun::lsp
