// What the compiler knows about one file: its places, names and mistakes, and the meaning of its expressions.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/frontend/definition.h"
#include "compiler/frontend/library.h"
#include "compiler/frontend/request.h"
#include "compiler/frontend/source.h"
#include "tools/lsp/documents.h"

namespace graphrun::lsp {

struct Analysis {
  std::string path;
  bool job = false;
  std::string text;
  // The text where parts that protobuf cannot read are blank, so that the others keep their places; empty if the text is too
  // large. The members below refer to this text.
  std::string readable;
  bool repaired = false;  // readable is not the text
  std::unique_ptr<google::protobuf::Message> message;
  Places places;
  GraphRequest request;                              // of the graph, or of the job's
  std::vector<Diagnostic> of_library;                // which the library refers to
  std::unique_ptr<frontend::Library> library;        // owns the definitions
  const frontend::Definition* definition = nullptr;  // of the graph, or of the job's; null if it cannot be read
  std::vector<Diagnostic> diagnostics;               // of the text, and of what it names
  std::vector<Observation> observed;                 // of all files
  std::vector<std::string> data_files;               // that a job names, if kMeanings

  const std::string* file() const { return places.at.file; }
  std::size_t in_readable(std::size_t offset) const;  // the offset of the same place there
};

// How much is analyzed.
enum class Depth {
  kNames,    // everything but diagnostics and observations
  kMeanings  // everything that needs no data
};

// Analyzes a file. Args without a value get numbers for the analysis: those of a line "# set: hidden=4", otherwise made-up
// ones. Throws no UserError or InternalError: these become diagnostics.
std::unique_ptr<Analysis> analyze(const std::string& path, const Documents& documents, Depth depth);

// The mistakes that `graphrun check` reports, for a job those of its data too.
std::vector<Diagnostic> check_file(const std::string& path, const Documents& documents);

}  // namespace graphrun::lsp
