// Graphs that tests write themselves, as the text of a file.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace graphrun::tests {

inline GraphRequest request_of(const std::string& text) {
  GraphRequest request;
  request.path = testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".pbtxt";
  std::ofstream(request.path) << text;
  return request;
}

// What loading it says; empty where it loads.
inline std::vector<Diagnostic> mistakes_of(const std::string& text) {
  try {
    load_graph(request_of(text));
  } catch (const UserError& error) {
    return error.diagnostics();
  }
  return {};
}

}  // namespace graphrun::tests
