/*---ridgepoint
operator = "topk_filter"
note = "Where to begin: one CTA per row; one pass per distinct value, from the largest down, until top_k are counted."
[tune]
BLOCK = [512, 256, 1024]
[[launch]]
kernel = "topk_filter"
grid = ["seq_len"]
block = ["BLOCK"]
args = ["logits", "out", "i32:hidden_size", "i32:top_k"]
---*/

extern "C" __global__ void topk_filter(const float* logits, float* out, int hidden_size, int top_k) {
    __shared__ float best[BLOCK];
    __shared__ int copies[BLOCK];
    const float infinity = __int_as_float(0x7f800000);
    logits += (size_t)blockIdx.x * hidden_size;
    out += (size_t)blockIdx.x * hidden_size;

    float threshold = infinity;
    int counted = 0;
    while (counted < min(top_k, hidden_size)) {
        // The largest value below the threshold so far, and how often it is there.
        float mine = -infinity;
        int mine_copies = 0;
        for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
            float value = logits[i];
            bool below = value < threshold || counted == 0;
            if (below && value > mine) mine = value, mine_copies = 0;
            if (below && value == mine) mine_copies++;
        }
        best[threadIdx.x] = mine;
        copies[threadIdx.x] = mine_copies;
        __syncthreads();
        for (int half = BLOCK / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) {
                int other = threadIdx.x + half;
                if (best[other] == best[threadIdx.x]) {
                    copies[threadIdx.x] += copies[other];
                } else if (best[other] > best[threadIdx.x]) {
                    best[threadIdx.x] = best[other];
                    copies[threadIdx.x] = copies[other];
                }
            }
            __syncthreads();
        }
        threshold = best[0];
        if (copies[0] == 0) break;  // nothing but NaN is left
        counted += copies[0];
        __syncthreads();
    }

    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) out[i] = logits[i] < threshold ? -infinity : logits[i];
}
