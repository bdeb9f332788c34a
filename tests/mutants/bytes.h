// Mutates files of any kind, byte by byte and line by line, and files with a known format according to it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/draw.h"

namespace graphrun::mutants {

// Changes bits, inserts special bytes and characters; drops, duplicates and swaps parts and lines; sometimes inserts far too
// much of one thing.
std::string mutated_bytes(const std::string& bytes, tests::Draw& random);
// Over several lines, or in one line if it is nested so deeply that indentation would dominate.
std::string text_of_json(const nlohmann::json& json);
// JSON: changes values to others of any type; removes, adds and moves members. Text that is not JSON is mutated as bytes.
std::string mutated_json(const std::string& text, tests::Draw& random);
// A safetensors file: mutates its header as JSON, with the length corrected, or the numbers after it.
std::string mutated_tensors(const std::string& bytes, tests::Draw& random);
// Chooses by file extension; not for `.pbtxt`.
std::string mutated_file(const std::string& name, const std::string& bytes, tests::Draw& random);

}  // namespace graphrun::mutants
