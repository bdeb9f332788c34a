// Checkpoints that are truncated anywhere or have any bit flipped: rejected by name, and the newest good one is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "runtime/base/status.h"
#include "runtime/tensor/checkpoint.h"
#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class DamagedCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    Checkpoint checkpoint;
    checkpoint.groups["parameters"]["W"] = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
    checkpoint.texts["state.json"] = "{\"step\": 1}\n";
    good_ = checkpoint_folder(folder_.path(), 1);
    newest_ = checkpoint_folder(folder_.path(), 2);
    save_checkpoint(good_, checkpoint);
    save_checkpoint(newest_, checkpoint);
  }

  // Damages every file of the newest checkpoint in turn, once with each of its `variants`, and restores it.
  void each_damage(const std::function<std::vector<std::string>(const std::string&)>& variants) const {
    for (const auto& entry : fs::directory_iterator(newest_)) {
      const std::string path = entry.path().string(), sound = get_bytes(path);
      for (const std::string& damaged : variants(sound)) {
        put_bytes(path, damaged);
        const NewestCheckpoint found = newest_sound(folder_.path());
        ASSERT_EQ(found.folder, good_) << path << "\n" << damaged;
        ASSERT_THAT(found.damaged, ElementsAre(HasSubstr(newest_))) << path << "\n" << damaged;
        EXPECT_THROW(load_checkpoint(newest_), UserError) << path << "\n" << damaged;
      }
      put_bytes(path, sound);
    }
    EXPECT_EQ(newest_sound(folder_.path()).folder, newest_);
  }

  TemporaryFolder folder_;
  std::string good_, newest_;
};

TEST_F(DamagedCheckpoint, CutAtAnyByteIsPassedOverByName) {
  each_damage([](const std::string& sound) {
    std::vector<std::string> cut;
    for (std::size_t size = 0; size < sound.size(); size += 1 + sound.size() / 40) cut.push_back(sound.substr(0, size));
    cut.push_back(sound.substr(0, sound.size() - 1));
    return cut;
  });
}

TEST_F(DamagedCheckpoint, WithAnyBitChangedIsPassedOverByName) {
  each_damage([](const std::string& sound) {
    std::vector<std::string> changed;
    for (std::size_t bit = 0; bit < 8 * sound.size(); bit += 9 + sound.size() / 10) {
      changed.push_back(sound);
      changed.back()[bit / 8] = static_cast<char>(sound[bit / 8] ^ (1 << bit % 8));
    }
    return changed;
  });
}

TEST_F(DamagedCheckpoint, WithoutAHashOfItsManifestLoadsWhereItIsOld) {
  const std::string path = newest_ + "/manifest.json";
  std::string text = get_bytes(path);
  const std::size_t hash = text.find(",\n  \"sha256\""), end = text.find('\n', hash + 2);
  text.erase(hash, end - hash - 1);
  put_bytes(path, text);
  EXPECT_THROW(load_checkpoint(newest_), UserError) << text;
  text.replace(text.find("\"version\": 2"), 12, "\"version\": 1");
  put_bytes(path, text);
  EXPECT_NO_THROW(load_checkpoint(newest_)) << text;
}

}  // namespace
}  // namespace graphrun
