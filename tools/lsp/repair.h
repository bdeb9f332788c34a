// Makes a text that is being edited readable.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "compiler/frontend/source.h"

namespace graphrun::lsp {

struct RepairedText {
  std::string text;  // the same, except that lines that protobuf cannot read are blank, or end with an added quote; empty if it
                     // is too large
  bool changed = false;
  Places places;
};

// Reads as much as possible of a text into `message`. Everything that is read keeps its place.
RepairedText read_repaired(std::string_view text, const std::string* file, google::protobuf::Message& message);

}  // namespace graphrun::lsp
