// SHA3-256 or Keccak-256 of many messages of equal length: a thread a message, the 25 lanes of the
// state in its registers (metalbench/keccak.h).
// dispatch: keccak  threads_in_grid=(messages)  threads=(TG)
// instance: sha3 SUFFIX = 6
// instance: keccak SUFFIX = 1
// tune: TG = 128, 32, 64, 256
// limits: length <= 4294967159
#include "metalbench/keccak.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void keccak(
    device const uchar* x, device uchar* y, constant uint& length,
    uint message [[thread_position_in_grid]]) {
  store_keccak(Message{x + ulong(message) * length, length}, SUFFIX, y + ulong(message) * 32);
}
