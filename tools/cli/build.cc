#include "tools/cli/build.h"

#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace graphrun {
namespace {

constexpr std::size_t kAligned = 4;  // alignment of the parts of a note
std::size_t padded(std::size_t size) { return (size + kAligned - 1) / kAligned * kAligned; }

// The build id among the notes of a segment; "" if there is none.
std::string id_of(const char* notes, std::size_t size) {
  ElfW(Nhdr) note;
  for (std::size_t at = 0; at + sizeof note <= size;) {
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note, value = name + padded(note.n_namesz), end = value + padded(note.n_descsz);
    if (end > size) return "";
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(notes + name, note.n_namesz) == std::string_view("GNU\0", 4)) {
      std::string id;
      for (std::size_t i = 0; i < note.n_descsz; ++i) id += fmt::format("{:02x}", static_cast<unsigned char>(notes[value + i]));
      return id;
    }
    at = end;
  }
  return "";
}

// Records the ids of loaded objects; the program itself has no name.
int note_id(dl_phdr_info* loaded, std::size_t, void* noted) {
  Build& build = *static_cast<Build*>(noted);
  const std::string_view name = loaded->dlpi_name;
  const bool program = name.empty(), library = name.find("/libgraphrun.so") != std::string_view::npos;
  for (int i = 0; (program || library) && i < loaded->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = loaded->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const std::string id = id_of(reinterpret_cast<const char*>(loaded->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    if (!id.empty()) (program ? build.program_id : build.library_id) = id;
  }
  return 0;
}

}  // namespace

const Build& this_build() {
  static const Build build = [] {
    Build made{GRAPHRUN_VERSION, GRAPHRUN_COMPILER, GRAPHRUN_FLAGS, "none", "none"};
    dl_iterate_phdr(note_id, &made);
    return made;
  }();
  return build;
}

}  // namespace graphrun
