// Runs a program where memory may not be both written and executed, as systemd's MemoryDenyWriteExecute has it: the calls that
// would make it so fail with EPERM.
//
//   no_new_code PROGRAM [ARGUMENT ...]
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr auto kOfNumber = static_cast<std::uint32_t>(offsetof(seccomp_data, nr));
// The low half of the third argument, the requested protection: x86 and ARM store it first.
constexpr auto kOfProtection = static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t));

// A call whose protection has all of `bits` fails.
void refuse(std::vector<sock_filter>& filter, std::uint32_t call, std::uint32_t bits) {
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kOfNumber));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kOfProtection));
  filter.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: no_new_code PROGRAM [ARGUMENT ...]\n", stderr);
    return 2;
  }
  std::vector<sock_filter> filter;
  refuse(filter, SYS_mmap, PROT_WRITE | PROT_EXEC);
  refuse(filter, SYS_mprotect, PROT_EXEC);
  refuse(filter, SYS_pkey_mprotect, PROT_EXEC);
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("no_new_code: seccomp");
    return 3;
  }
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}
