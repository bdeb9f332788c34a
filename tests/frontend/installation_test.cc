#include "compiler/frontend/installation.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace graphrun::frontend {
namespace {

TEST(InstalledGraphs, AreTheSourcesInABuildFolder) {
  EXPECT_TRUE(std::filesystem::equivalent(installed_graphs(), GRAPHRUN_SOURCE_DIR "/graphs")) << installed_graphs();
}

}  // namespace
}  // namespace graphrun::frontend
