// Numbers that a user gives for an input: on the command line, or in a JSON, text or safetensors file.
#pragma once

#include <string>

#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// "NAME=NUMBERS", "NAME=@FILE" or "NAME=@FILE:MEMBER", as in --feed.
struct GivenFeed {
  std::string name;  // of the input
  std::string text;  // numbers as JSON; empty if there is a file
  std::string file;  // empty if the numbers are in `text`
  std::string
      member;  // a tensor of the file, or a member of its JSON object; empty: the one with the input's name, or the only one
};
// Throws UsageError if the text is not a feed.
GivenFeed parse_given_feed(const std::string& text);

// The numbers as a tensor of the input's type. The extension tells whether a file is safetensors or JSON; any other file is
// text with one row of numbers per line and blank lines between matrices. INT32 accepts integers, BOOL true, false, 0 and 1,
// FLOAT also "inf", "-inf" and null for NaN. Throws UserError (kBadData): E0655 bad-numbers, E0622 feed-type; what reading the
// file throws.
Tensor read_given_feed(const GivenFeed& given, const FeedSpec& spec);

// A tensor as JSON, nested by its axes, with the shortest numbers that read back to the same values. read_given_feed reads it.
std::string tensor_json(const Tensor& tensor);

}  // namespace graphrun
