// The parts of the page that graph-dump --format=html writes, byte for byte the files of compiler/dump/page/:
// tools/cmake/page.cmake compiles them in.
#pragma once

#include <string_view>

namespace graphrun {

std::string_view page_html();
std::string_view page_css();
std::string_view page_js();

}  // namespace graphrun
