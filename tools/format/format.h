// Formats graphs and jobs. Keeps the line breaks of the file, and adds some to lines that are too long; everything else that
// changes no value follows from the contents: spaces in and around expressions, indents, columns, comments at the ends of
// lines. Comments are never lost, and the message that the text means never changes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace graphrun {

inline constexpr std::size_t kFormatColumns = 128;  // of a line, as far as its texts can be split

// The formatted text of a graph or a job; formatting it again changes nothing. `file`: its name in messages. Throws
// UserError (kInvalidGraph, E01xx) with every mistake for a text that cannot be parsed.
std::string format_source(std::string_view text, const std::string* file);

}  // namespace graphrun
