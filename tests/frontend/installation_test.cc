#include "compiler/frontend/installation.h"
#include "tests/folders.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace graphrun::frontend {
namespace {

TEST(InstalledGraphs, AreTheSourcesInABuildFolder) {
  EXPECT_TRUE(std::filesystem::equivalent(installed_graphs(), tests::source_folder() + "/graphs")) << installed_graphs();
}

}  // namespace
}  // namespace graphrun::frontend
