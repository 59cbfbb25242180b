/* Times MPI_Allreduce as `mirrortrain bench-allreduce` times its own: float32 sums in place, every element of every
 * repetition new and checked, the median over the repetitions of the slowest rank's time.
 *
 *   mpicc -O3 mpi_allreduce.c -o mpi_allreduce && mpirun -np 2 --bind-to core mpi_allreduce 8 4096 4194304
 *
 * Rank 0 prints one line for each size in bytes: {"size": 4096, "time_us": 1.23, "wrong": 0}
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kWarmUps = 2, kLeastRepetitions = 5, kMostRepetitions = 10000 };
static const double kEnoughSeconds = 0.08; /* for one size, checking included */

static float element(uint32_t index, uint32_t rank, uint32_t repetition) {
  return (float)((index * 2654435761u + rank * 40503u * 65536u + repetition * 2246822519u) >> 24);
}

static unsigned long count_wrong(const float* elements, size_t count, int ranks, int repetition) {
  unsigned long wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += element((uint32_t)i, (uint32_t)rank, (uint32_t)repetition);
    wrong += elements[i] != sum;
  }
  return wrong;
}

static int ascending(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

static void measure(float* elements, size_t bytes, int rank, int ranks) {
  static double times[kMostRepetitions];
  const size_t count = bytes / sizeof(float);
  unsigned long wrong = 0;
  int done = 0, more = 1;
  const double begin = MPI_Wtime();
  for (int repetition = 0; more; ++repetition) {
    for (size_t i = 0; i < count; ++i) elements[i] = element((uint32_t)i, (uint32_t)rank, (uint32_t)repetition);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, elements, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const double mine = MPI_Wtime() - start;
    double slowest = 0;
    wrong += count_wrong(elements, count, ranks, repetition);
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (repetition >= kWarmUps) times[done++] = slowest;
    more = done < kLeastRepetitions || (done < kMostRepetitions && MPI_Wtime() - begin < kEnoughSeconds);
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  unsigned long all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  qsort(times, (size_t)done, sizeof *times, ascending);
  printf("{\"size\": %zu, \"time_us\": %.3f, \"wrong\": %lu}\n", bytes, times[done / 2] * 1e6, all_wrong);
  fflush(stdout);
}

int main(int argc, char** argv) {
  const size_t huge_page = (size_t)2 << 20;
  int rank = 0, ranks = 1;
  size_t most = huge_page;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; ++i) {
    const size_t bytes = strtoull(argv[i], NULL, 10);
    if (bytes > most) most = bytes;
  }
  most = (most + huge_page - 1) / huge_page * huge_page;
  float* elements = aligned_alloc(huge_page, most);
  if (elements == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  madvise(elements, most, MADV_HUGEPAGE); /* as mirrortrain's buffers */
  memset(elements, 0, most);
  for (int i = 1; i < argc; ++i) measure(elements, strtoull(argv[i], NULL, 10), rank, ranks);
  free(elements);
  MPI_Finalize();
  return 0;
}
