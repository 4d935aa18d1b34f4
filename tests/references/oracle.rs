//! What the ten operators are, in f64 and with no thought of speed: written from their definitions, not from the kernels.

use ridgepoint::dtype::DType;

use super::case::{Answers, Case};

/// The exact outputs of a case. Where a definition rounds on the way, the rounding is here; the last one is the caller's.
pub(crate) fn answers(case: &Case<'_>) -> Answers {
    match case.operator.name.as_str() {
        "rms_norm" => one("out", rms_norm(case)),
        "fused_add_rms_norm" => fused_add_rms_norm(case),
        "layer_norm" => one("out", layer_norm(case)),
        "l2_norm" => one("out", l2_norm(case)),
        "silu_and_mul" => one("out", silu_and_mul(case)),
        "moe_topk_gating_softmax" => moe_topk_gating_softmax(case),
        "per_token_group_quant_fp8" => per_token_group_quant_fp8(case),
        "topk_filter" => one("out", topk_filter(case)),
        "linear_sigmoid_mul" => one("out", linear_sigmoid_mul(case)),
        "attention_forward" => one("out", attention_forward(case)),
        other => panic!("no oracle for {other}"),
    }
}

pub(crate) fn one(name: &str, values: Vec<f64>) -> Answers {
    Answers::from([(name.to_owned(), values)])
}

pub(crate) fn bf16(value: f64) -> f64 {
    DType::Bf16.decode(DType::Bf16.encode(value))
}

fn mean_square(row: &[f64]) -> f64 {
    row.iter().map(|value| value * value).sum::<f64>() / row.len() as f64
}

fn weighted_rms(rows: &[f64], weight: &[f64], eps: f64) -> Vec<f64> {
    let row = |row: &[f64]| {
        let length = (mean_square(row) + eps).sqrt();
        row.iter()
            .zip(weight)
            .map(|(value, weight)| value / length * weight)
            .collect::<Vec<_>>()
    };
    rows.chunks(weight.len()).flat_map(row).collect()
}

fn rms_norm(case: &Case<'_>) -> Vec<f64> {
    weighted_rms(&case.input("x"), &case.input("weight"), case.number("eps"))
}

fn fused_add_rms_norm(case: &Case<'_>) -> Answers {
    let sums: Vec<f64> = case
        .input("x")
        .iter()
        .zip(case.input("residual"))
        .map(|(x, r)| bf16(x + r))
        .collect();
    let out = weighted_rms(&sums, &case.input("weight"), case.number("eps"));
    Answers::from([("out".to_owned(), out), ("residual_out".to_owned(), sums)])
}

fn layer_norm(case: &Case<'_>) -> Vec<f64> {
    let (weight, bias, eps) = (case.input("weight"), case.input("bias"), case.number("eps"));
    let row = |row: &[f64]| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let centred: Vec<f64> = row.iter().map(|value| value - mean).collect();
        let deviation = (mean_square(&centred) + eps).sqrt();
        let shifted = |(i, value): (usize, f64)| value / deviation * weight[i] + bias[i];
        centred.into_iter().enumerate().map(shifted).collect::<Vec<_>>()
    };
    case.input("x").chunks(weight.len()).flat_map(row).collect()
}

fn l2_norm(case: &Case<'_>) -> Vec<f64> {
    let eps = case.number("eps");
    let row = |row: &[f64]| {
        let length = (row.iter().map(|value| value * value).sum::<f64>() + eps).sqrt();
        row.iter().map(|value| value / length).collect::<Vec<_>>()
    };
    case.input("x")
        .chunks(case.count("hidden_size"))
        .flat_map(row)
        .collect()
}

fn silu_and_mul(case: &Case<'_>) -> Vec<f64> {
    let d = case.count("d");
    let row = |row: &[f64]| {
        let (gates, ups) = row.split_at(d);
        let out = |(gate, up): (&f64, &f64)| bf16(gate / (1.0 + (-gate).exp())) * up;
        gates.iter().zip(ups).map(out).collect::<Vec<_>>()
    };
    case.input("x").chunks(2 * d).flat_map(row).collect()
}

/// Indices of the largest values, largest first, of equal ones the lower index first.
pub(crate) fn largest(values: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    // Both zeros are equal, so not `total_cmp`; the sort is stable.
    order.sort_by(|a, b| values[*b].partial_cmp(&values[*a]).expect("inputs are numbers"));
    order.truncate(count);
    order
}

fn moe_topk_gating_softmax(case: &Case<'_>) -> Answers {
    let (mut weights, mut ids) = (Vec::new(), Vec::new());
    for logits in case.input("gating_output").chunks(case.count("num_experts")) {
        let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
        for id in largest(logits, case.count("top_k")) {
            weights.push(logits[id].exp() / total);
            ids.push(id as f64);
        }
    }
    Answers::from([("topk_weights".to_owned(), weights), ("topk_ids".to_owned(), ids)])
}

fn per_token_group_quant_fp8(case: &Case<'_>) -> Answers {
    let (most, least) = (case.number("fp8_max"), case.number("scale_min"));
    let (mut quantized, mut scales) = (Vec::new(), Vec::new());
    for group in case.input("x").chunks(case.count("group_size")) {
        let amax = group.iter().fold(0.0_f64, |amax, value| amax.max(value.abs()));
        // Scales are f32, and the quotients that are rounded to fp8 are those of f32 arithmetic.
        let scale = ((amax / most) as f32).max(least as f32);
        quantized.extend(
            group
                .iter()
                .map(|value| f64::from(*value as f32 / scale).clamp(-most, most)),
        );
        scales.push(f64::from(scale));
    }
    Answers::from([("quantized".to_owned(), quantized), ("scales".to_owned(), scales)])
}

fn topk_filter(case: &Case<'_>) -> Vec<f64> {
    let row = |row: &[f64]| {
        let threshold = largest(row, case.count("top_k"))
            .last()
            .map_or(f64::NEG_INFINITY, |last| row[*last]);
        row.iter()
            .map(|value| if *value < threshold { f64::NEG_INFINITY } else { *value })
            .collect::<Vec<_>>()
    };
    case.input("logits")
        .chunks(case.count("hidden_size"))
        .flat_map(row)
        .collect()
}

fn linear_sigmoid_mul(case: &Case<'_>) -> Vec<f64> {
    let hidden_size = case.count("hidden_size");
    let (weight, bias, post) = (case.input("weight"), case.input("bias"), case.input("post_mul_mat"));
    let mut out = Vec::with_capacity(post.len());
    for token in case.input("hidden_states").chunks(hidden_size) {
        for (feature, row) in weight.chunks(hidden_size).enumerate() {
            let dot: f64 = token.iter().zip(row).map(|(a, b)| a * b).sum();
            let gate = bf16(dot + bias[feature]);
            out.push(post[out.len()] / (1.0 + (-gate).exp()));
        }
    }
    out
}

fn attention_forward(case: &Case<'_>) -> Vec<f64> {
    attention(case, |scores, value| {
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - top).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = vec![0.0; case.count("head_dim")];
        for (key, weight) in weights.iter().enumerate() {
            for (sum, v) in sum.iter_mut().zip(value(key)) {
                *sum += weight / total * v;
            }
        }
        sum
    })
}

/// Attention with a way of one's own to go from the scores of a query over all keys, and the keys' values, to the output.
pub(crate) fn attention<'v>(
    case: &Case<'_>,
    finish: impl Fn(&[f64], &dyn Fn(usize) -> std::vec::IntoIter<f64>) -> Vec<f64> + 'v,
) -> Vec<f64> {
    let (starts_q, starts_k) = (case.input("cu_seqlens_q"), case.input("cu_seqlens_k"));
    let (heads, dim) = (case.count("num_heads"), case.count("head_dim"));
    let tokens = case.count("total_tokens").min(usize::try_from(case.rows).unwrap());
    let (q, k, v) = (case.first("q", tokens * heads * dim), case.input("k"), case.input("v"));
    let at = |tensor: &[f64], token: usize, head: usize| tensor[(token * heads + head) * dim..][..dim].to_vec();
    let mut out = Vec::with_capacity(tokens * heads * dim);
    for token in 0..tokens {
        let sequence = (0..starts_q.len() - 1)
            .find(|s| starts_q[s + 1] > token as f64)
            .unwrap();
        let keys = starts_k[sequence] as usize..starts_k[sequence + 1] as usize;
        for head in 0..heads {
            let query = at(&q, token, head);
            let score = |key: usize| -> f64 {
                let key = &k[(key * heads + head) * dim..][..dim];
                query.iter().zip(key).map(|(a, b)| a * b).sum::<f64>() / (dim as f64).sqrt()
            };
            let scores: Vec<f64> = keys.clone().map(score).collect();
            let first = keys.start;
            out.extend(finish(&scores, &|key| at(&v, first + key, head).into_iter()));
        }
    }
    out
}
