// Changes of any file, byte by byte and line by line, and of those that have a form of their own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/draw.h"

namespace graphrun::mutants {

// Bits, special bytes and characters, parts dropped, doubled and exchanged, lines too; sometimes far too much of one thing.
std::string mutated_bytes(const std::string& bytes, tests::Draw& random);
// Over several lines, or one where it is nested so deeply that indentation would be most of it.
std::string text_of_json(const nlohmann::json& json);
// JSON: values become others of any type, members go, come and change places. What is no JSON changes as bytes.
std::string mutated_json(const std::string& text, tests::Draw& random);
// A safetensors file: its header as JSON, with its length put right, or the numbers behind it.
std::string mutated_tensors(const std::string& bytes, tests::Draw& random);
// By the ending of its name; `.pbtxt` is not for these.
std::string mutated_file(const std::string& name, const std::string& bytes, tests::Draw& random);

}  // namespace graphrun::mutants
