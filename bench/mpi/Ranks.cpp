// MPI_Allreduce of f32 sums under a launcher. Rank 0 reads lines "COUNT CALLS" and answers each with the
// seconds that one call took on the slower rank, or "wrong". Meanwhile the other ranks sleep, because a
// waiting MPI call would take a core from the other side of the comparison.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mpi.h>
#include <thread>
#include <vector>

namespace {

struct Order {
  long count = 0, calls = 0;
};

Order receive(int rank) {
  Order order;
  if (rank == 0) {
    if (std::scanf("%ld %ld", &order.count, &order.calls) != 2) order = {};
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int r = 1; r < size; ++r)
      MPI_Send(&order, sizeof order, MPI_BYTE, r, 0, MPI_COMM_WORLD);
    return order;
  }
  for (int there = 0; !there;) {
    MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (!there) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  MPI_Recv(&order, sizeof order, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return order;
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<float> src, dst;
  for (Order o = receive(rank); o.calls > 0; o = receive(rank)) {
    const auto n = static_cast<size_t>(o.count);
    if (src.size() != n) {
      src.assign(n, 0);
      dst.assign(n, -1);
      for (size_t i = 0; i < n; ++i)
        src[i] = static_cast<float>(i % 1000) + static_cast<float>(rank);
    }
    MPI_Allreduce(src.data(), dst.data(), int(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    int wrong = 0;
    for (size_t i = 0; i < n; ++i)
      wrong |= dst[i] != static_cast<float>(i % 1000) * float(size) + float(size * (size - 1) / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < o.calls; ++i)
      MPI_Allreduce(src.data(), dst.data(), int(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    double mine = (MPI_Wtime() - start) / double(o.calls), slowest = 0;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    int anyWrong = 0;
    MPI_Reduce(&wrong, &anyWrong, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
      if (anyWrong)
        std::printf("wrong\n");
      else
        std::printf("%.9g\n", slowest);
      std::fflush(stdout);
    }
  }
  MPI_Finalize();
}
