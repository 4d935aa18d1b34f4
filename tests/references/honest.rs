//! Other right ways to compute the operators: f32 sums in another order, a reciprocal instead of a division, bf16 where
//! tensor cores take bf16, a rounding more or one less. Contracts must accept them.

use super::case::{Answers, Case};
use super::oracle::{attention, bf16, largest, one};

/// Outputs by another way than the oracle's, or the oracle's own where there is no other.
pub(crate) fn answers(case: &Case<'_>) -> Answers {
    match case.operator.name.as_str() {
        "rms_norm" => one("out", weighted_rms(&case.input("x"), case)),
        "fused_add_rms_norm" => fused_add_rms_norm(case),
        "layer_norm" => one("out", layer_norm(case)),
        "l2_norm" => one("out", l2_norm(case)),
        "silu_and_mul" => one("out", silu_and_mul(case)),
        "moe_topk_gating_softmax" => moe_topk_gating_softmax(case),
        "per_token_group_quant_fp8" => per_token_group_quant_fp8(case),
        "linear_sigmoid_mul" => one("out", linear_sigmoid_mul(case)),
        "attention_forward" => one("out", attention_forward(case)),
        _ => super::oracle::answers(case),
    }
}

/// An f32 sum from the back to the front.
fn backwards(values: impl DoubleEndedIterator<Item = f64>) -> f32 {
    values.rev().fold(0.0, |sum, value| sum + value as f32)
}

/// The row is rounded to bf16 before the weight is applied.
fn weighted_rms(rows: &[f64], case: &Case<'_>) -> Vec<f64> {
    let weight = case.input("weight");
    let row = |row: &[f64]| {
        let squares = backwards(row.iter().map(|value| value * value));
        let scale = 1.0 / (squares / row.len() as f32 + case.number("eps") as f32).sqrt();
        let scaled = |(value, weight): (&f64, &f64)| bf16(f64::from(*value as f32 * scale)) * weight;
        row.iter().zip(&weight).map(scaled).collect::<Vec<_>>()
    };
    rows.chunks(weight.len()).flat_map(row).collect()
}

fn fused_add_rms_norm(case: &Case<'_>) -> Answers {
    let add = |(x, r): (&f64, f64)| bf16(f64::from(*x as f32 + r as f32));
    let sums: Vec<f64> = case.input("x").iter().zip(case.input("residual")).map(add).collect();
    Answers::from([
        ("out".to_owned(), weighted_rms(&sums, case)),
        ("residual_out".to_owned(), sums),
    ])
}

fn layer_norm(case: &Case<'_>) -> Vec<f64> {
    let (weight, bias) = (case.input("weight"), case.input("bias"));
    let row = |row: &[f64]| {
        let count = row.len() as f32;
        let mean = backwards(row.iter().copied()) / count;
        let variance = backwards(row.iter().map(|value| f64::from((*value as f32 - mean).powi(2)))) / count;
        let scale = 1.0 / (variance + case.number("eps") as f32).sqrt();
        let out =
            |(i, value): (usize, &f64)| f64::from((*value as f32 - mean) * scale * weight[i] as f32 + bias[i] as f32);
        row.iter().enumerate().map(out).collect::<Vec<_>>()
    };
    case.input("x").chunks(weight.len()).flat_map(row).collect()
}

fn l2_norm(case: &Case<'_>) -> Vec<f64> {
    let row = |row: &[f64]| {
        let scale = 1.0 / (backwards(row.iter().map(|value| value * value)) + case.number("eps") as f32).sqrt();
        row.iter()
            .map(|value| f64::from(*value as f32 * scale))
            .collect::<Vec<_>>()
    };
    case.input("x")
        .chunks(case.count("hidden_size"))
        .flat_map(row)
        .collect()
}

/// Without the rounding in the middle.
fn silu_and_mul(case: &Case<'_>) -> Vec<f64> {
    let d = case.count("d");
    let row = |row: &[f64]| {
        let (gates, ups) = row.split_at(d);
        let out = |(gate, up): (&f64, &f64)| {
            let (gate, up) = (*gate as f32, *up as f32);
            f64::from(gate / (1.0 + (-gate).exp()) * up)
        };
        gates.iter().zip(ups).map(out).collect::<Vec<_>>()
    };
    case.input("x").chunks(2 * d).flat_map(row).collect()
}

fn moe_topk_gating_softmax(case: &Case<'_>) -> Answers {
    let (mut weights, mut ids) = (Vec::new(), Vec::new());
    for logits in case.input("gating_output").chunks(case.count("num_experts")) {
        let chosen = largest(logits, case.count("top_k"));
        // Powers of two, as the hardware has them.
        let power = |logit: f64| ((logit as f32 - logits[chosen[0]] as f32) * std::f32::consts::LOG2_E).exp2();
        let total = backwards(logits.iter().map(|logit| f64::from(power(*logit))));
        for id in chosen.iter().copied() {
            weights.push(f64::from(power(logits[id]) / total));
            ids.push(id as f64);
        }
    }
    Answers::from([("topk_weights".to_owned(), weights), ("topk_ids".to_owned(), ids)])
}

/// A product with the reciprocal, which rounds a few elements to the neighbouring code.
fn per_token_group_quant_fp8(case: &Case<'_>) -> Answers {
    let (most, least) = (case.number("fp8_max") as f32, case.number("scale_min") as f32);
    let (mut quantized, mut scales) = (Vec::new(), Vec::new());
    for group in case.input("x").chunks(case.count("group_size")) {
        let amax = group
            .iter()
            .fold(0.0_f32, |amax, value| amax.max((*value as f32).abs()));
        let scale = (amax * (1.0 / most)).max(least);
        let reciprocal = 1.0 / scale;
        quantized.extend(
            group
                .iter()
                .map(|value| f64::from((*value as f32 * reciprocal).clamp(-most, most))),
        );
        scales.push(f64::from(scale));
    }
    Answers::from([("quantized".to_owned(), quantized), ("scales".to_owned(), scales)])
}

/// Sums of 16 products each, as tensor cores make them, added up in f32.
fn linear_sigmoid_mul(case: &Case<'_>) -> Vec<f64> {
    let hidden_size = case.count("hidden_size");
    let (weight, bias, post) = (case.input("weight"), case.input("bias"), case.input("post_mul_mat"));
    let mut out = Vec::with_capacity(post.len());
    for token in case.input("hidden_states").chunks(hidden_size) {
        for (feature, row) in weight.chunks(hidden_size).enumerate() {
            let mut sum = 0.0_f32;
            for (a, b) in token.chunks(16).zip(row.chunks(16)) {
                sum += a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() as f32;
            }
            let gate = bf16(f64::from(sum + bias[feature] as f32)) as f32;
            out.push(f64::from(post[out.len()] as f32 / (1.0 + (-gate).exp())));
        }
    }
    out
}

/// Online softmax over tiles of 64 keys, probabilities in bf16 for the second product, sums in f32.
fn attention_forward(case: &Case<'_>) -> Vec<f64> {
    attention(case, |scores, value| {
        let mut sum = vec![0.0_f32; case.count("head_dim")];
        let (mut top, mut total) = (f32::NEG_INFINITY, 0.0_f32);
        for (tile, scores) in scores.chunks(64).enumerate() {
            let old = top;
            top = scores.iter().fold(top, |top, score| top.max(*score as f32));
            let shrink = (old - top).exp();
            total *= shrink;
            for sum in &mut sum {
                *sum *= shrink;
            }
            for (key, score) in scores.iter().enumerate() {
                let weight = (*score as f32 - top).exp();
                total += weight;
                let weight = bf16(f64::from(weight)) as f32;
                for (sum, v) in sum.iter_mut().zip(value(tile * 64 + key)) {
                    *sum += weight * v as f32;
                }
            }
        }
        sum.iter()
            .map(|sum| if total > 0.0 { f64::from(sum / total) } else { 0.0 })
            .collect()
    })
}
