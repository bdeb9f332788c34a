// Checks SentencePiece models before the library reads them. The library does not check the tables in a model, and reads and
// writes outside its memory if they are wrong.
#pragma once

#include <string>
#include <string_view>

namespace graphrun {

// Returns the model without what splitting and joining text do not need: control pieces, self-tests, settings of training and
// fields of other versions. `name`: that of the file or field, for messages. Throws UserError (kBadData, E0657) if the library
// could misread the model, or would take excessive memory or time for a line of text.
std::string checked_piece_model(std::string_view bytes, const std::string& name);

// Throws that error.
[[noreturn]] void bad_piece_model(const std::string& name, const std::string& found,
                                  const std::string& expected = "what spm_train writes as PREFIX.model");

}  // namespace graphrun
