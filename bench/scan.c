/* The band scan of src/dovetail/sliding/kernels/scan.py, loop by loop: which rows of two columns of unsigned keys
   lie in a box, and the same for four boxes in one pass. `x - low <= width` is one subtraction, which wraps around
   below `low`, and one comparison. A first loop over a block, which the compiler turns into vector code, only asks
   whether any row is inside; only blocks that have one are looked through again, piece by piece.

   usage: scan ROWS TIMES    prints the CPU seconds of TIMES passes for one box and for four, and how many rows were
   found. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCK = 1024, PIECE = 128, TOGETHER = 4, ROOM = 4096 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int any_inside(const uint32_t *x, const uint32_t *y, int n, const uint32_t *low, const uint32_t *width) {
  int found = 0;
  uint32_t lx = low[0], wx = width[0], ly = low[1], wy = width[1];
  for (int i = 0; i < n; i++) found |= (x[i] - lx <= wx) & (y[i] - ly <= wy);
  return found;
}

static int any_inside_of_four(const uint32_t *x, const uint32_t *y, int n, const uint32_t *low, const uint32_t *width) {
  int found = 0;
  uint32_t a = low[0], e = low[1], b = low[2], f = low[3], c = low[4], g = low[5], d = low[6], h = low[7];
  uint32_t wa = width[0], we = width[1], wb = width[2], wf = width[3];
  uint32_t wc = width[4], wg = width[5], wd = width[6], wh = width[7];
  for (int i = 0; i < n; i++) {
    uint32_t u = x[i], v = y[i];
    found |= ((u - a <= wa) & (v - e <= we)) | ((u - b <= wb) & (v - f <= wf)) | ((u - c <= wc) & (v - g <= wg)) |
             ((u - d <= wd) & (v - h <= wh));
  }
  return found;
}

static int write_down(const uint32_t *x, const uint32_t *y, int begin, int end, const uint32_t *low,
                      const uint32_t *width, int64_t *out, int count) {
  for (int first = begin; first < end; first += PIECE) {
    int last = first + PIECE < end ? first + PIECE : end;
    if (!any_inside(x + first, y + first, last - first, low, width)) continue;
    for (int i = first; i < last; i++)
      if (x[i] - low[0] <= width[0] && y[i] - low[1] <= width[1]) {
        if (count == ROOM) return -1;
        out[count++] = i;
      }
  }
  return count;
}

__attribute__((noinline)) static int scan(const uint32_t *x, const uint32_t *y, int n, const uint32_t *low,
                                          const uint32_t *width, int64_t *out) {
  int count = 0;
  for (int first = 0; first < n && count >= 0; first += BLOCK) {
    int last = first + BLOCK < n ? first + BLOCK : n;
    if (any_inside(x + first, y + first, last - first, low, width))
      count = write_down(x, y, first, last, low, width, out, count);
  }
  return count;
}

__attribute__((noinline)) static int scan_four(const uint32_t *x, const uint32_t *y, int n, const uint32_t *low,
                                               const uint32_t *width, int64_t out[TOGETHER][ROOM], int *counts) {
  for (int first = 0; first < n; first += BLOCK) {
    int last = first + BLOCK < n ? first + BLOCK : n;
    if (!any_inside_of_four(x + first, y + first, last - first, low, width)) continue;
    for (int box = 0; box < TOGETHER; box++) {
      int count = write_down(x, y, first, last, low + 2 * box, width + 2 * box, out[box], counts[box]);
      if (count < 0) return 0;
      counts[box] = count;
    }
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int n = atoi(argv[1]), times = atoi(argv[2]);
  long found = 0;
  uint32_t *x = aligned_alloc(64, 4 * (size_t)n), *y = aligned_alloc(64, 4 * (size_t)n);
  for (int i = 0; i < n; i++) x[i] = 1 + rand() % 10000, y[i] = 1 + rand() % 10000;
  uint32_t low[8] = {50, 50, 500, 80, 900, 90, 7000, 1000}, width[8] = {20, 20, 20, 20, 20, 20, 20, 20};
  static int64_t out[TOGETHER][ROOM];
  double began = now();
  for (int k = 0; k < times; k++) {
    low[0] = 50 + k % 7;
    found += scan(x, y, n, low, width, out[0]);
  }
  double alone = now() - began;
  began = now();
  for (int k = 0; k < times; k++) {
    int counts[TOGETHER] = {0};
    low[0] = 50 + k % 7;
    scan_four(x, y, n, low, width, out, counts);
    for (int box = 0; box < TOGETHER; box++) found += counts[box];
  }
  printf("%.9f %.9f %ld\n", alone, now() - began, found);
  return 0;
}
