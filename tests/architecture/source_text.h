// What the architecture tests look for in the text of a source.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace graphrun::architecture {

// A source with its lines, but without comments and without the contents of its literals ("", '').
std::string code_of(const std::string& text);

// The lines of a source that compare an operator's name or family with something else.
std::vector<int> comparisons_of_op_names(const std::string& text);

// The lines of a source that add to or subtract from the counts of a scan's operands, or the positions where a kind of them
// begins: that is how the order of the operands is computed (ScanSlots, ir::ScanLayout).
std::vector<int> slot_arithmetic(const std::string& text);

// The classes that a source defines, those inside of others too, and its enumerations but for those inside of classes.
std::vector<std::string> types_defined(const std::string& text);

// The names that several sources, or one several times, define a type by, each with these sources. `types`: by path. A .cu and
// its _emulation.cc are compiled in place of each other.
std::map<std::string, std::vector<std::string>> types_defined_twice(
    const std::map<std::string, std::vector<std::string>>& types);

}  // namespace graphrun::architecture
