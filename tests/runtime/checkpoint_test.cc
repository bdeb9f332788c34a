#include "runtime/tensor/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "runtime/base/status.h"
#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A checkpoint in which every part contains the step.
Checkpoint of_step(int step) {
  Checkpoint c;
  const std::vector<float> weights(100, static_cast<float>(step));
  c.groups["parameters"] = {{"encode.W", Tensor::of<float>({10, 10}, weights)}};
  c.groups["slots"] = {{"adam.t", Tensor::of<std::int32_t>({}, {step})}};
  c.texts["job.pbtxt"] = "step: " + std::to_string(step);
  return c;
}

void expect_step(const Checkpoint& c, int step) {
  ASSERT_EQ(c.groups.size(), 2u);
  for (float w : c.groups.at("parameters").at("encode.W").span<float>()) ASSERT_EQ(w, static_cast<float>(step));
  EXPECT_EQ(c.groups.at("slots").at("adam.t").at(0), step);
  EXPECT_EQ(c.texts.at("job.pbtxt"), "step: " + std::to_string(step));
}

template <class Call>
std::string told_by(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadData);
    return error.what();
  }
  ADD_FAILURE() << "nothing thrown";
  return "";
}

TEST(Checkpoint, LoadsWhatItSaved) {
  const TemporaryFolder run;
  const std::string folder = checkpoint_folder(run.path(), 123);
  EXPECT_EQ(folder, run / "checkpoints/step-000123");
  save_checkpoint(folder + "/", of_step(123));
  expect_step(load_checkpoint(folder), 123);
  const CheckpointReader reader(folder);
  EXPECT_THAT(reader.groups(), ElementsAre("parameters", "slots"));
  EXPECT_THAT(reader.texts(), ElementsAre("job.pbtxt"));
  EXPECT_TRUE(reader.has_group("slots") && reader.has_text("job.pbtxt"));
  EXPECT_FALSE(reader.has_group("states") || reader.has_text("slots.safetensors"));
  EXPECT_THAT(told_by([&] { reader.group("states"); }), HasSubstr("it has no 'states.safetensors'"));
}

TEST(Checkpoint, ReplacesOneOfTheSameName) {
  const TemporaryFolder run;
  save_checkpoint(run / "best/step-000001", of_step(1));
  Checkpoint second = of_step(2);
  second.texts.erase("job.pbtxt");
  save_checkpoint(run / "best/step-000001", second);
  const Checkpoint loaded = load_checkpoint(run / "best/step-000001");
  EXPECT_EQ(loaded.groups.at("slots").at("adam.t").at(0), 2);
  EXPECT_TRUE(loaded.texts.empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(run / "best"), std::filesystem::directory_iterator()), 1);
}

TEST(Checkpoint, WritesTensorsThatAreMadeForIt) {
  const TemporaryFolder run;
  save_checkpoint(run / "whole", of_step(1));
  Checkpoint made = of_step(1);
  std::vector<std::string> order;
  const NamedTensors slots = std::move(made.groups.at("slots"));
  made.groups.erase("slots");
  for (const auto& [name, tensor] : slots) {
    made.sources["slots"][name] = {tensor.dtype(), tensor.sizes(), [&order, name = name, tensor = tensor] {
                                     order.push_back(name);
                                     return tensor;
                                   }};
  }
  save_checkpoint(run / "made", made);
  EXPECT_EQ(order.size(), slots.size());
  for (const char* file : {"/slots.safetensors", "/parameters.safetensors", "/manifest.json"}) {
    EXPECT_EQ(get_bytes(run / "made" + file), get_bytes(run / "whole" + file)) << file;
  }
  made.sources["slots"].begin()->second.make = [] { return Tensor(DType::kBool, {1}); };
  EXPECT_THROW(save_checkpoint(run / "made", made), InternalError);
  expect_step(load_checkpoint(run / "made"), 1);
}

TEST(Checkpoint, RefusesNamesThatAreNoFileNames) {
  const TemporaryFolder run;
  for (const std::string name : {"", ".", "..", "../x", "a/b", ".hidden", "a b", "a\n", "x.safetensors", "manifest.json"}) {
    Checkpoint c;
    c.texts[name] = "x";
    EXPECT_THROW(save_checkpoint(run / "c", c), InternalError) << name;
  }
  EXPECT_EQ(run.entries(), 0u);
}

TEST(Checkpoint, KeepsTheOldOneWhereSavingFails) {
  const TemporaryFolder run;
  save_checkpoint(run / "c", of_step(1));
  Checkpoint bad = of_step(2);
  bad.groups["slots"]["__metadata__"] = Tensor::of<float>({1}, {0});
  EXPECT_THROW(save_checkpoint(run / "c", bad), UserError);
  expect_step(load_checkpoint(run / "c"), 1);
  EXPECT_EQ(run.entries(), 1u);
  put_bytes(run / "file", "x");
  EXPECT_THROW(save_checkpoint(run / "file/c", of_step(1)), UserError);
}

TEST(Checkpoint, RefusesDamage) {
  const TemporaryFolder run;
  const std::string folder = run / "c", weights = folder + "/parameters.safetensors", text = folder + "/job.pbtxt";
  const auto again = [&] { save_checkpoint(folder, of_step(1)); };
  again();
  std::string bytes = get_bytes(weights);
  bytes[bytes.size() - 3] ^= 1;
  put_bytes(weights, bytes);
  EXPECT_THAT(told_by([&] { load_checkpoint(folder); }), HasSubstr("'parameters.safetensors' is damaged"));
  EXPECT_NO_THROW(CheckpointReader(folder).group("slots"));
  put_bytes(weights, bytes + "x");
  EXPECT_THAT(told_by([&] { load_checkpoint(folder); }), HasSubstr("the manifest says"));
  std::filesystem::remove(weights);
  EXPECT_THAT(told_by([&] { load_checkpoint(folder); }), HasSubstr("No such file"));
  again();
  put_bytes(text, "step: 2");
  EXPECT_THAT(told_by([&] { load_checkpoint(folder); }), HasSubstr("'job.pbtxt' is damaged"));
  std::filesystem::remove(folder + "/manifest.json");
  EXPECT_THAT(told_by([&] { load_checkpoint(folder); }), HasSubstr("no manifest.json"));
  EXPECT_THAT(told_by([&] { load_checkpoint(run / "none"); }), HasSubstr("no such folder"));
}

TEST(Checkpoint, RefusesHostileManifests) {
  const TemporaryFolder run;
  const std::string hash(64, '0');
  const auto message = [&](const std::string& manifest) {
    put_bytes(run / "manifest.json", manifest);
    return told_by([&] { load_checkpoint(run.path()); });
  };
  const auto listing = [&](const std::string& files) {
    return message(R"({"format":"graphrun checkpoint","version":1,"files":)" + files + "}");
  };
  EXPECT_THAT(message(""), HasSubstr("not JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("no checkpoint's"));
  EXPECT_THAT(message(std::string(1 << 20, '[')), HasSubstr("nested too deep"));
  EXPECT_THAT(message(R"({"format":"else","version":1})"), HasSubstr("no checkpoint's"));
  EXPECT_THAT(message(R"({"format":"graphrun checkpoint","version":-1})"), HasSubstr("no checkpoint's"));
  EXPECT_THAT(message(R"({"format":"graphrun checkpoint","version":3,"files":7})"), HasSubstr("E0686 newer-checkpoint"));
  EXPECT_THAT(message(R"({"format":"graphrun checkpoint","version":0,"files":{}})"), HasSubstr("no checkpoint's"));
  EXPECT_THAT(listing("7"), HasSubstr("lists no files"));
  EXPECT_THAT(listing(R"({"../../etc/passwd":{"bytes":1,"sha256":")" + hash + "\"}}"), HasSubstr("without a plain name"));
  EXPECT_THAT(listing(R"({"manifest.json":{"bytes":1,"sha256":")" + hash + "\"}}"), HasSubstr("without a plain name"));
  EXPECT_THAT(listing(R"({"a":{"bytes":-1,"sha256":")" + hash + "\"}}"), HasSubstr("no size and hash"));
  EXPECT_THAT(listing(R"({"a":{"bytes":1}})"), HasSubstr("no size and hash"));
  EXPECT_THAT(listing(R"({"a":{"bytes":1,"sha256":")" + hash + "\"}}"), HasSubstr("No such file"));
}

TEST(Checkpoint, FollowsNoLink) {
  const TemporaryFolder run;
  save_checkpoint(run / "c", of_step(1));
  std::filesystem::rename(run / "c/job.pbtxt", run / "elsewhere");
  std::filesystem::create_symlink(run / "elsewhere", run / "c/job.pbtxt");
  EXPECT_THAT(told_by([&] { load_checkpoint(run / "c"); }), HasSubstr("'job.pbtxt' is a link"));
}

TEST(Checkpoint, FindsTheNewestComplete) {
  const TemporaryFolder run;
  EXPECT_EQ(newest_complete(run.path()), std::nullopt);
  for (int step : {5, 20, 1000000, 300}) save_checkpoint(checkpoint_folder(run.path(), step), of_step(step));
  EXPECT_EQ(newest_complete(run.path()), checkpoint_folder(run.path(), 1000000));
  EXPECT_EQ(newest_complete(run.path(), "best"), std::nullopt);
  std::filesystem::remove(checkpoint_folder(run.path(), 1000000) + "/manifest.json");
  EXPECT_EQ(newest_complete(run.path()), checkpoint_folder(run.path(), 300));
  put_bytes(checkpoint_folder(run.path(), 300) + "/job.pbtxt", "shorter");
  EXPECT_EQ(newest_complete(run.path()), checkpoint_folder(run.path(), 20));
  // A newer version counts as found, so that loading it is rejected by name.
  std::filesystem::create_directories(checkpoint_folder(run.path(), 7777777));
  put_bytes(checkpoint_folder(run.path(), 7777777) + "/manifest.json",
            R"({"format":"graphrun checkpoint","version":99,"files":{}})");
  EXPECT_EQ(newest_complete(run.path()), checkpoint_folder(run.path(), 7777777));
}

TEST(Checkpoint, TellsWhatIsWrongWithNewerOnes) {
  const TemporaryFolder run;
  EXPECT_TRUE(newest_sound(run.path()).damaged.empty());
  for (int step : {1, 2, 3}) save_checkpoint(checkpoint_folder(run.path(), step), of_step(step));
  const auto file = [&](int step) { return checkpoint_folder(run.path(), step) + "/slots.safetensors"; };
  std::filesystem::create_directories(run / "checkpoints/step-000009.partial");
  std::filesystem::create_directories(run / "checkpoints/step-000008");  // pruning was killed
  std::filesystem::resize_file(file(3), 10);
  NewestCheckpoint newest = newest_sound(run.path());
  EXPECT_EQ(newest.folder, checkpoint_folder(run.path(), 2));
  ASSERT_EQ(newest.damaged.size(), 1u);
  EXPECT_THAT(newest.damaged[0],
              testing::AllOf(HasSubstr("step-000003"), HasSubstr("slots.safetensors"), HasSubstr("10 bytes")));
  // A flipped bit does not change the size.
  std::fstream flipped(file(2), std::ios::in | std::ios::out | std::ios::binary);
  flipped.seekp(-1, std::ios::end);
  flipped.put('!');
  flipped.close();
  newest = newest_sound(run.path());
  EXPECT_EQ(newest.folder, checkpoint_folder(run.path(), 1));
  EXPECT_EQ(newest.damaged.size(), 2u);
  std::filesystem::remove(file(1));
  newest = newest_sound(run.path());
  EXPECT_EQ(newest.folder, std::nullopt);
  ASSERT_GE(newest.damaged.size(), 3u);
  EXPECT_THAT(newest.damaged[2], HasSubstr("step-000001"));
}

TEST(Checkpoint, PrunesOldOnesAndLeftovers) {
  const TemporaryFolder run;
  for (int step : {1, 2, 3, 4}) save_checkpoint(checkpoint_folder(run.path(), step), of_step(step));
  const std::string parent = run / "checkpoints";
  std::filesystem::create_directories(parent + "/step-000009.partial");
  put_bytes(parent + "/step-000009.partial/slots.safetensors", "half");
  std::filesystem::create_directories(parent + "/step-000008");                        // no manifest
  std::filesystem::create_directories(parent + "/notes");                              // not a checkpoint
  std::filesystem::rename(parent + "/step-000004", parent + "/step-000004.replaced");  // killed between two renames
  prune_checkpoints(run.path(), 2);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(parent)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("notes", "step-000003", "step-000004"));
  expect_step(load_checkpoint(parent + "/step-000004"), 4);
  EXPECT_NO_THROW(prune_checkpoints(run / "none", 1));
}

// A checkpoint that is unreadable now may still be complete: it is neither removed nor counted.
TEST(Checkpoint, PruningKeepsWhatCannotBeRead) {
  const TemporaryFolder run;
  for (int step : {1, 2, 3}) save_checkpoint(checkpoint_folder(run.path(), step), of_step(step));
  const std::string manifest = checkpoint_folder(run.path(), 2) + "/manifest.json";
  std::filesystem::rename(manifest, run / "kept");
  std::filesystem::create_symlink("manifest.json", manifest);  // ELOOP
  prune_checkpoints(run.path(), 1);
  std::filesystem::remove(manifest);
  std::filesystem::rename(run / "kept", manifest);
  expect_step(load_checkpoint(checkpoint_folder(run.path(), 2)), 2);
  EXPECT_FALSE(std::filesystem::exists(checkpoint_folder(run.path(), 1)));
  prune_checkpoints(run.path(), 1);
  EXPECT_FALSE(std::filesystem::exists(checkpoint_folder(run.path(), 2)));
}

// Kills a process that keeps saving and pruning, at many moments; the checkpoints found afterwards are always complete.
TEST(Checkpoint, SurvivesKilling) {
  const TemporaryFolder run;
  save_checkpoint(checkpoint_folder(run.path(), 0), of_step(0));
  save_checkpoint(run / "best/step-000000", of_step(0));
  int step = 0;
  for (int round = 0; round < 12; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int next = step + 1;; ++next) {
        save_checkpoint(checkpoint_folder(run.path(), next), of_step(next));
        save_checkpoint(run / "best/step-000000", of_step(next));
        prune_checkpoints(run.path(), 1);
      }
    }
    usleep(static_cast<useconds_t>(1000 + 7919 * round % 40000));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const std::optional<std::string> newest = newest_complete(run.path());
    ASSERT_TRUE(newest);
    const Checkpoint found = load_checkpoint(*newest);
    step = static_cast<int>(found.groups.at("slots").at("adam.t").at(0));
    EXPECT_EQ(*newest, checkpoint_folder(run.path(), step));
    expect_step(found, step);
    const Checkpoint best = load_checkpoint(run / "best/step-000000");
    expect_step(best, static_cast<int>(best.groups.at("slots").at("adam.t").at(0)));
  }
}

}  // namespace
}  // namespace graphrun
