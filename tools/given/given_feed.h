// Numbers that a user gives an input: written in the command line, or in a file of JSON, text or safetensors.
#pragma once

#include <string>

#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// "NAME=NUMBERS", "NAME=@FILE" or "NAME=@FILE:MEMBER" as --feed takes them.
struct GivenFeed {
  std::string name;    // of the input
  std::string text;    // numbers as JSON; empty where there is a file
  std::string file;    // empty: the numbers stand in `text`
  std::string member;  // a tensor of the file, or a member of its JSON object; empty: the input's name, or the only one
};
// Throws UsageError where the text is no feed.
GivenFeed parse_given_feed(const std::string& text);

// The numbers as a tensor of the input's type. A file is safetensors or JSON by its ending, else text: a row of numbers a line,
// blank lines between matrices. INT32 takes whole numbers, BOOL true, false, 0 and 1, FLOAT also "inf", "-inf" and null for
// what is no number. Throws UserError (kBadData): E0655 bad-numbers, E0622 feed-type, what reading the file throws.
Tensor read_given_feed(const GivenFeed& given, const FeedSpec& spec);

// A tensor as JSON, nested by its axes, each number as short as it can be read back: what read_given_feed reads.
std::string tensor_json(const Tensor& tensor);

}  // namespace graphrun
