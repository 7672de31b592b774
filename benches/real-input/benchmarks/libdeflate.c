/* Times `libdeflate`: text compressed at three levels. Prints the processor time of the
   fastest of equal passes of each. */

#include <libdeflate.h>
#include <stdio.h>
#include <time.h>

enum { SIZE = 200000, PASSES = 6 };

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

int main(void) {
    static char text[SIZE], packed[2 * SIZE];
    unsigned state = 1;
    /* Words of one to eight letters, the common ones often. */
    for (size_t at = 0; at < SIZE;) {
        state = state * 1664525u + 1013904223u;
        unsigned word = (state >> 16) % 4096;
        if (state >> 31) word %= 64;
        for (unsigned left = 1 + word % 8; left-- && at < SIZE; word = word * 31 + 7) text[at++] = 'a' + word % 26;
        if (at < SIZE) text[at++] = ' ';
    }
    static const int levels[] = {1, 6, 12};
    for (int level = 0; level < 3; level++) {
        struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(levels[level]);
        double fastest = 1e9;
        for (int pass = 0; pass < PASSES; pass++) {
            double start = milliseconds();
            if (!libdeflate_deflate_compress(compressor, text, SIZE, packed, sizeof packed)) return 1;
            double time = milliseconds() - start;
            if (time < fastest) fastest = time;
        }
        printf("level_%d: %.4f ms\n", levels[level], fastest);
        libdeflate_free_compressor(compressor);
    }
    return 0;
}
