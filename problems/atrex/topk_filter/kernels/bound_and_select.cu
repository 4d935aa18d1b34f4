/*---ridgepoint
operator = "topk_filter"
note = "A bound from 64 group maxima leaves about a hundred candidates per row; the threshold is picked among them."
[tune]
BLOCK = [256, 128, 512]
LONG = [1024, 512]
[[launch]]
kernel = "topk_filter_vec4"
grid = ["seq_len"]
block = ["if(hidden_size > 16384, LONG, BLOCK)"]
when = "hidden_size % 4 == 0"
args = ["logits", "out", "i32:hidden_size", "i32:top_k"]
[[launch]]
kernel = "topk_filter_any"
grid = ["seq_len"]
block = ["if(hidden_size > 16384, LONG, BLOCK)"]
when = "hidden_size % 4 > 0"
args = ["logits", "out", "i32:hidden_size", "i32:top_k"]
---*/
// One CTA per row, in three reads of which only the first comes from DRAM:
//   1. The row is dealt into 64 groups. top_k groups reach the top_k-th largest of the group maxima, so at least
//      top_k values do: it bounds the threshold from below.
//   2. The values that reach the bound are gathered, and the one of rank top_k among them is the threshold.
//      If more reach it than there is room for (many equal values), the threshold is found bit by bit instead.
//   3. The output is written.

constexpr int GROUPS = 64;
constexpr int ROOM = 512;

template <int WIDTH>
struct __align__(4 * WIDTH) Values {
    float at[WIDTH];
};

// Unsigned integers in the order of the floats.
__device__ unsigned order_of(float value) {
    unsigned bits = __float_as_uint(value);
    return bits & 0x80000000 ? ~bits : bits | 0x80000000;
}

__device__ float value_of(unsigned order) {
    return __uint_as_float(order & 0x80000000 ? order & 0x7fffffff : ~order);
}

// How many of `count` values come before values[i]: the larger ones, and equal ones with a lower index.
__device__ int rank_of(const float* values, int count, int i) {
    float mine = values[i];
    int rank = 0;
    for (int j = 0; j < count; j++) rank += values[j] > mine || (values[j] == mine && j < i);
    return rank;
}

// The value of rank top_k of a row, 32 passes over it; `counter` is shared.
template <int WIDTH>
__device__ float bit_by_bit(const Values<WIDTH>* row, int vectors, int top_k, int* counter) {
    unsigned threshold = 0;
    for (int bit = 31; bit >= 0; bit--) {
        unsigned candidate = threshold | 1u << bit;
        __syncthreads();
        if (threadIdx.x == 0) *counter = 0;
        __syncthreads();
        int reach = 0;
        for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
            Values<WIDTH> values = row[i];
#pragma unroll
            for (int j = 0; j < WIDTH; j++) reach += order_of(values.at[j]) >= candidate;
        }
        for (int step = 16; step > 0; step /= 2) reach += __shfl_xor_sync(0xffffffff, reach, step);
        if (threadIdx.x % 32 == 0) atomicAdd(counter, reach);
        __syncthreads();
        if (*counter >= top_k) threshold = candidate;
    }
    return value_of(threshold);
}

template <int WIDTH>
__device__ void filter(const float* __restrict__ logits, float* __restrict__ out, int hidden_size, int top_k) {
    __shared__ float maxima[GROUPS];
    __shared__ float candidates[ROOM];
    __shared__ float bound, threshold;
    __shared__ int found, counter;
    const float minus_infinity = -__int_as_float(0x7f800000);
    const Values<WIDTH>* row = (const Values<WIDTH>*)(logits + (size_t)blockIdx.x * hidden_size);
    Values<WIDTH>* out_row = (Values<WIDTH>*)(out + (size_t)blockIdx.x * hidden_size);
    int vectors = hidden_size / WIDTH;

    float largest = minus_infinity;
#pragma unroll 4
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
        Values<WIDTH> values = row[i];
#pragma unroll
        for (int j = 0; j < WIDTH; j++) largest = fmaxf(largest, values.at[j]);
    }
    int lanes = blockDim.x / GROUPS;
    for (int step = lanes / 2; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, step));
    if (threadIdx.x % lanes == 0) maxima[threadIdx.x / lanes] = largest;
    if (threadIdx.x == 0) {
        found = 0;
        bound = threshold = minus_infinity;
    }
    __syncthreads();
    if (threadIdx.x < GROUPS && rank_of(maxima, GROUPS, threadIdx.x) == top_k - 1) bound = maxima[threadIdx.x];
    __syncthreads();

    float reached = bound;
#pragma unroll 4
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
        Values<WIDTH> values = row[i];
#pragma unroll
        for (int j = 0; j < WIDTH; j++) {
            if (values.at[j] >= reached) {
                int slot = atomicAdd(&found, 1);
                if (slot < ROOM) candidates[slot] = values.at[j];
            }
        }
    }
    __syncthreads();
    if (found > ROOM) {
        float exact = bit_by_bit<WIDTH>(row, vectors, top_k, &counter);
        if (threadIdx.x == 0) threshold = exact;
    } else {
        for (int i = threadIdx.x; i < found; i += blockDim.x) {
            if (rank_of(candidates, found, i) == top_k - 1) threshold = candidates[i];
        }
    }
    __syncthreads();

    // With fewer than top_k values the threshold is still minus infinity, and all stay.
    float least = hidden_size < top_k ? minus_infinity : threshold;
#pragma unroll 4
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) {
        Values<WIDTH> values = row[i];
#pragma unroll
        for (int j = 0; j < WIDTH; j++) values.at[j] = values.at[j] < least ? minus_infinity : values.at[j];
        out_row[i] = values;
    }
}

extern "C" __global__ void __launch_bounds__(1024)
topk_filter_vec4(const float* __restrict__ logits, float* __restrict__ out, int hidden_size, int top_k) {
    filter<4>(logits, out, hidden_size, top_k);
}

extern "C" __global__ void __launch_bounds__(1024)
topk_filter_any(const float* __restrict__ logits, float* __restrict__ out, int hidden_size, int top_k) {
    filter<1>(logits, out, hidden_size, top_k);
}
