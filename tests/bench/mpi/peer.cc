// The peer of bench_exchange: MPI_Allreduce of the library that this program is linked with.
//
//   mpirun -np 4 mpi_peer_openmpi ELEMENTS TIMES WORK
//
// Adds float32 arrays TIMES times, and then TIMES times with MPI_Iallreduce in front of WORK milliseconds of work. Process 0
// prints the medians: milliseconds of an addition, and what is left of it after the work.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "tests/bench/work.h"

int main(int count, char** words) {
  if (count != 4) return 2;
  const int elements = std::atoi(words[1]), times = std::atoi(words[2]), work_ms = std::atoi(words[3]);
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<float> numbers(static_cast<std::size_t>(elements), static_cast<float>(rank + 1)), sum(numbers.size());
  const auto meet = [] { MPI_Barrier(MPI_COMM_WORLD); };
  const auto add = [&] { MPI_Allreduce(numbers.data(), sum.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
  MPI_Request request = MPI_REQUEST_NULL;
  const auto begin = [&] {
    MPI_Iallreduce(numbers.data(), sum.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
  };
  const auto end = [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); };
  const graphrun::ExchangeTimes found = graphrun::time_exchange(times, work_ms, meet, add, begin, end);
  if (rank == 0) std::printf("%.3f %.3f %.3f %.3f\n", found.add, found.left, found.with_work, found.work);
  MPI_Finalize();
}
