/*---ridgepoint
operator = "moe_topk_gating_softmax"
note = "One thread per token; every choice is one more pass over the token's logits."
[[launch]]
kernel = "moe_topk_gating_softmax"
grid = ["max(ceil_div(token_count, 64), 1)"]
block = ["64"]
args = ["gating_output", "topk_weights", "topk_ids", "i64:token_count", "i32:num_experts", "i32:top_k"]
---*/
// Softmax over a token's experts, then the top_k experts, largest first; of equal logits the lower id comes first.
// The weights are the softmax's own: they are not scaled to sum to 1 again.

extern "C" __global__ void moe_topk_gating_softmax(const float* gating_output, float* topk_weights, int* topk_ids,
                                                   long long token_count, int num_experts, int top_k) {
    long long token = blockIdx.x * 64LL + threadIdx.x;
    if (token >= token_count) return;
    const float* logits = gating_output + token * num_experts;

    float largest = logits[0];
    for (int e = 1; e < num_experts; e++) largest = fmaxf(largest, logits[e]);
    double total = 0.0;
    for (int e = 0; e < num_experts; e++) total += expf(logits[e] - largest);

    // The next choice is the largest logit that comes after the last choice in the order (logit down, id up).
    float last = __int_as_float(0x7f800000);
    int last_id = -1;
    for (int choice = 0; choice < top_k; choice++) {
        int best = -1;
        for (int e = 0; e < num_experts; e++) {
            bool after_last = logits[e] < last || (logits[e] == last && e > last_id);
            if (after_last && (best < 0 || logits[e] > logits[best])) best = e;
        }
        topk_ids[token * top_k + choice] = best;
        topk_weights[token * top_k + choice] = (float)(expf(logits[best] - largest) / total);
        last = logits[best];
        last_id = best;
    }
}
