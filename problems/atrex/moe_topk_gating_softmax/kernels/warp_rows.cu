/*---ridgepoint
operator = "moe_topk_gating_softmax"
note = "One warp per token, all its logits in registers; a choice is a maximum over the warp by shuffles."
[tune]
BLOCK = [128, 64, 256]
[[launch]]
kernel = "moe_topk_128"
grid = ["ceil_div(token_count, BLOCK / 32)"]
block = ["BLOCK"]
when = "num_experts <= 128"
args = ["gating_output", "topk_weights", "topk_ids", "i32:token_count", "i32:num_experts", "i32:top_k"]
[[launch]]
kernel = "moe_topk_256"
grid = ["ceil_div(token_count, BLOCK / 32)"]
block = ["BLOCK"]
when = "(num_experts > 128) * (num_experts <= 256)"
args = ["gating_output", "topk_weights", "topk_ids", "i32:token_count", "i32:num_experts", "i32:top_k"]
[[launch]]
kernel = "moe_topk_1024"
grid = ["ceil_div(token_count, BLOCK / 32)"]
block = ["BLOCK"]
when = "num_experts > 256"
args = ["gating_output", "topk_weights", "topk_ids", "i32:token_count", "i32:num_experts", "i32:top_k"]
---*/
// At most 1024 experts.

// One number that orders candidates: larger logit first, then lower id. 0 is below every real candidate.
__device__ unsigned long long key_of(float logit, int id) {
    unsigned bits = __float_as_uint(logit + 0.0f);  // -0 and 0 are equal
    unsigned order = bits & 0x80000000 ? ~bits : bits | 0x80000000;
    return (unsigned long long)order << 32 | (0xffffffff - id);
}

__device__ float logit_of(unsigned long long key) {
    unsigned order = key >> 32;
    return __uint_as_float(order & 0x80000000 ? order & 0x7fffffff : ~order);
}

__device__ int id_of(unsigned long long key) { return 0xffffffff - (unsigned)key; }

template <int PER_LANE>
__device__ void choose(const float* __restrict__ gating_output, float* __restrict__ topk_weights,
                       int* __restrict__ topk_ids, int token_count, int num_experts, int top_k) {
    int lane = threadIdx.x % 32;
    int token = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
    if (token >= token_count) return;
    const float* logits = gating_output + (size_t)token * num_experts;

    unsigned long long keys[PER_LANE];
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        int e = lane + 32 * i;
        keys[i] = e < num_experts ? key_of(logits[e], e) : 0;
    }

    float largest = 0.0f;
    float total = 0.0f;
    for (int choice = 0; choice < top_k; choice++) {
        unsigned long long best = keys[0];
#pragma unroll
        for (int i = 1; i < PER_LANE; i++) best = max(best, keys[i]);
        for (int step = 16; step > 0; step /= 2) best = max(best, __shfl_xor_sync(0xffffffff, best, step));

        // The first choice is the largest logit, from which the softmax starts.
        if (choice == 0) {
            largest = logit_of(best);
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) {
                if (lane + 32 * i < num_experts) total += __expf(logit_of(keys[i]) - largest);
            }
            for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffff, total, step);
        }

        if (lane == choice % 32) {
            topk_weights[(size_t)token * top_k + choice] = __expf(logit_of(best) - largest) / total;
            topk_ids[(size_t)token * top_k + choice] = id_of(best);
        }
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) {
            if (keys[i] == best) keys[i] = 0;
        }
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
moe_topk_128(const float* gating_output, float* topk_weights, int* topk_ids, int token_count, int num_experts, int top_k) {
    choose<4>(gating_output, topk_weights, topk_ids, token_count, num_experts, top_k);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
moe_topk_256(const float* gating_output, float* topk_weights, int* topk_ids, int token_count, int num_experts, int top_k) {
    choose<8>(gating_output, topk_weights, topk_ids, token_count, num_experts, top_k);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
moe_topk_1024(const float* gating_output, float* topk_weights, int* topk_ids, int token_count, int num_experts, int top_k) {
    choose<32>(gating_output, topk_weights, topk_ids, token_count, num_experts, top_k);
}
