/*---ridgepoint
operator = "topk_filter"
note = "One CTA per row; the threshold is found bit by bit, in 32 counting passes."
[[launch]]
kernel = "topk_filter"
grid = ["max(seq_len, 1)"]
block = ["512"]
args = ["logits", "out", "i64:seq_len", "i64:hidden_size", "i64:top_k"]
---*/
// The top_k-th largest value of a row is its threshold: values below become -inf, all others stay, ties included.

constexpr int BLOCK = 512;

// Unsigned integers in the order of the floats.
__device__ unsigned order_of(float value) {
    unsigned bits = __float_as_uint(value);
    return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}

__device__ float value_of(unsigned order) {
    return __uint_as_float(order & 0x80000000 ? order & 0x7fffffff : ~order);
}

// The sum over all threads of the CTA; every thread gets it.
__device__ int cta_sum(int value) {
    __shared__ int partial[BLOCK];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    int total = partial[0];
    __syncthreads();
    return total;
}

extern "C" __global__ void topk_filter(const float* logits, float* out, long long seq_len, long long hidden_size,
                                       long long top_k) {
    long long row = blockIdx.x;
    if (row >= seq_len) return;
    logits += row * hidden_size;
    out += row * hidden_size;

    // The largest order that at least top_k values reach: each bit, from the top, stays set if enough still reach it.
    // A row of fewer than top_k values ends at order 0, below all of them.
    unsigned threshold = 0;
    for (int bit = 31; bit >= 0; bit--) {
        unsigned candidate = threshold | 1u << bit;
        int reach = 0;
        for (long long i = threadIdx.x; i < hidden_size; i += BLOCK) reach += order_of(logits[i]) >= candidate;
        if (cta_sum(reach) >= top_k) threshold = candidate;
    }

    bool keep_all = hidden_size <= top_k;
    for (long long i = threadIdx.x; i < hidden_size; i += BLOCK) {
        bool keep = keep_all || logits[i] >= value_of(threshold);
        out[i] = keep ? logits[i] : -__int_as_float(0x7f800000);
    }
}
