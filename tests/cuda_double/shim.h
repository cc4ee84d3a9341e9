// What a GPU's threads ask the hardware for, on a host that runs them one after the other. Kernels
// whose threads meet are not for the double.
#pragma once

struct MbDoublePlace {
  unsigned x, y, z;
};
static MbDoublePlace mb_double_thread, mb_double_group;

static inline unsigned __nvvm_read_ptx_sreg_tid_x() { return mb_double_thread.x; }
static inline unsigned __nvvm_read_ptx_sreg_tid_y() { return mb_double_thread.y; }
static inline unsigned __nvvm_read_ptx_sreg_tid_z() { return mb_double_thread.z; }
// Their number, of which nothing depends in a kernel without tensors.
unsigned __nvvm_read_ptx_sreg_ntid_x();
unsigned __nvvm_read_ptx_sreg_ntid_y();
static inline unsigned __nvvm_read_ptx_sreg_ctaid_x() { return mb_double_group.x; }
static inline unsigned __nvvm_read_ptx_sreg_ctaid_y() { return mb_double_group.y; }
static inline unsigned __nvvm_read_ptx_sreg_ctaid_z() { return mb_double_group.z; }
static inline unsigned __nvvm_read_ptx_sreg_laneid() { return mb_double_thread.x % 32; }
static inline float __nvvm_ex2_approx_f(float x) { return __builtin_exp2f(x); }

unsigned __nvvm_shfl_sync_idx_i32(unsigned, unsigned, unsigned, unsigned);
unsigned __nvvm_vote_ballot_sync(unsigned, bool);
void __nvvm_bar_warp_sync(unsigned);
void __syncthreads();
