// The spelling of expressions in formatted files: one space around operators and after commas, none inside brackets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/expression.h"
#include "graphs/text.pb.h"

namespace graphrun {

// Whether a field's text is an expression, a list of bindings, an equation or a shape.
bool is_expression(TextSyntax kind);

// Throws UserError (kInvalidGraph, E01xx) if the text of such a field cannot be parsed.
void parse_text(const ir::SourceText& text, TextSyntax kind);

// The text of an expression with the usual spaces, and no others. It must parse.
std::string spaced(const ir::SourceText& text);

// Splits a spaced expression into parts of at most `width` code points where the text allows it: after commas, else around
// operators, outside of brackets if possible. Each part but the last ends with a space.
std::vector<std::string> wrapped_expression(const std::string& text, std::size_t width);

// The same for the inside of a literal of prose: after \n and at spaces.
std::vector<std::string> wrapped_words(std::string_view text, std::size_t width);

}  // namespace graphrun
