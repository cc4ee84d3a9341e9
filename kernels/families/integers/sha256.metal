// SHA-256 of many messages of equal length: a thread a message, all of its state in registers
// (metalbench/sha256.h). Lanes read lines of memory that are `length` apart; each line is used as a
// whole by the next blocks of its lane, and 64 bytes take some two thousand operations.
// dispatch: sha256  threads_in_grid=(messages)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// limits: length <= 4294967168
#include "metalbench/sha256.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void sha256(
    device const uchar* x, device uchar* y, constant uint& length,
    uint message [[thread_position_in_grid]]) {
  sha256_of(Message{x + ulong(message) * length, length}).store(y + ulong(message) * 32);
}
