#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/schema.h"
#include "tools/cli/program.h"
#include "tools/commands/commands.h"
#include "tools/help/op_reference.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

std::string printed(ExitCode (*run)(const Arguments&), const Arguments& arguments) {
  testing::internal::CaptureStdout();
  const ExitCode code = run(arguments);
  std::fflush(stdout);
  EXPECT_EQ(code, ExitCode::kDone);
  return testing::internal::GetCapturedStdout();
}

TEST(OpReference, ShowsAllOfASchema) {
  const ir::OpSchema schema = OpDefinition("shift", "test")
                                  .Doc("y = x + by")
                                  .Input("x", "[...] FLOAT: what is shifted")
                                  .OptionalInput("lengths", "INT32: the number of real positions")
                                  .Float("by", 0.5, "how far")
                                  .Required("axis", AttributeKind::kInt, "along which axis")
                                  .Output("y")
                                  .NoGradient("it is made up")
                                  .schema();
  EXPECT_EQ(op_reference(schema),
            "shift(x, lengths?, by=…, axis=)    (family test)\n"
            "\n"
            "y = x + by\n"
            "\n"
            "inputs\n"
            "  x        [...] FLOAT: what is shifted\n"
            "  lengths  may be absent. INT32: the number of real positions\n"
            "\n"
            "attributes\n"
            "  by    number = 0.5: how far\n"
            "  axis  whole number, must be given: along which axis\n"
            "\n"
            "result\n"
            "  y\n"
            "\n"
            "gradient: none: it is made up\n");
}

TEST(Help, ListsEveryCommand) {
  const std::string text = printed(run_help, {});
  for (const std::string& name : command_names()) EXPECT_THAT(text, HasSubstr("  " + name + " "));
}

TEST(Help, EveryCommandHasHelp) {
  for (const Command& command : commands()) {
    const std::string text = printed(command.run, {"--help"});
    EXPECT_THAT(text, HasSubstr("usage: graphrun " + command.name)) << command.name;
    EXPECT_THAT(text, HasSubstr("--threads")) << command.name;
    EXPECT_EQ(printed(run_help, {command.name}), text);
  }
}

TEST(Help, AnUnknownNameGetsNearOnes) {
  try {
    run_help({"hepl"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'help'"));
  }
}

TEST(Help, AbbreviatedAndUnknownOptionsAreRefused) {
  EXPECT_THROW(run_help({"--hel"}), UsageError);
  EXPECT_THROW(run_help({"--nonsense"}), UsageError);
  EXPECT_THROW(run_help({"help", "help"}), UsageError);
}

}  // namespace
}  // namespace graphrun
