// Parts of HTML pages that need no other file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/report/table.h"

namespace graphrun {

struct PageSection {
  std::string title;
  std::string html;     // of its body; a section without one is left out
  bool folded = false;  // opened by a click
};

// `refresh`: seconds after which a browser loads the page again; 0: never.
std::string html_page(const std::string& title, const std::vector<PageSection>& sections, int refresh = 0);
// A picture as an image of its own, so that its style applies to nothing else.
std::string svg_image(std::string_view svg, std::string_view description);
// Rows of cells; the first row is the head.
std::string html_table(const std::vector<std::vector<std::string>>& rows);
// A table of figures. One of confusions gets sums, colors by the share of a row's sum, and a list of the most frequent
// mistakes.
std::string html_figures(const Table& table);
std::string preformatted(std::string_view text);

}  // namespace graphrun
