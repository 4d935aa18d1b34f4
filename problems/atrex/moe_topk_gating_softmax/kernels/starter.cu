/*---ridgepoint
operator = "moe_topk_gating_softmax"
note = "Where to begin: one CTA per token, the token's logits in shared memory, one tree search per choice."
[tune]
BLOCK = [128, 64, 256]
[[launch]]
kernel = "moe_topk_gating_softmax"
grid = ["token_count"]
block = ["BLOCK"]
shared = "4 * num_experts"
args = ["gating_output", "topk_weights", "topk_ids", "i32:num_experts", "i32:top_k"]
---*/

// The larger logit wins; of equal ones the lower id.
__device__ bool better(float a, int a_id, float b, int b_id) { return a > b || (a == b && a_id < b_id); }

extern "C" __global__ void moe_topk_gating_softmax(const float* gating_output, float* topk_weights, int* topk_ids,
                                                   int num_experts, int top_k) {
    extern __shared__ float logits[];
    __shared__ float best[BLOCK];
    __shared__ int best_id[BLOCK];
    const float minus_infinity = -__int_as_float(0x7f800000);
    size_t token = blockIdx.x;
    for (int e = threadIdx.x; e < num_experts; e += BLOCK) logits[e] = gating_output[token * num_experts + e];
    __syncthreads();

    float largest = 0.0f;
    float total = 0.0f;
    for (int choice = 0; choice < top_k; choice++) {
        float mine = minus_infinity;
        int mine_id = 0x7fffffff;
        for (int e = threadIdx.x; e < num_experts; e += BLOCK) {
            if (better(logits[e], e, mine, mine_id)) mine = logits[e], mine_id = e;
        }
        best[threadIdx.x] = mine;
        best_id[threadIdx.x] = mine_id;
        __syncthreads();
        for (int half = BLOCK / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) {
                int other = threadIdx.x + half;
                if (better(best[other], best_id[other], best[threadIdx.x], best_id[threadIdx.x])) {
                    best[threadIdx.x] = best[other];
                    best_id[threadIdx.x] = best_id[other];
                }
            }
            __syncthreads();
        }

        if (threadIdx.x == 0) {
            // The first choice is the largest logit, which the softmax needs anyway.
            if (choice == 0) {
                largest = best[0];
                for (int e = 0; e < num_experts; e++) total += expf(logits[e] - largest);
            }
            topk_ids[token * top_k + choice] = best_id[0];
            topk_weights[token * top_k + choice] = expf(best[0] - largest) / total;
            logits[best_id[0]] = minus_infinity;  // taken
        }
        __syncthreads();
    }
}
