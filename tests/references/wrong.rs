//! Wrong answers that contracts must refuse.

use ridgepoint::dtype::DType;
use ridgepoint::problem::{ConcreteTensor, Role};

use super::case::{Case, decode, encode};

/// What a wrong answer is, and its bytes, for one output of which the right bytes are `want`.
pub(crate) fn answers(case: &Case<'_>, output: &ConcreteTensor, want: &[u8]) -> Vec<(String, Vec<u8>)> {
    let dtype = output.dtype;
    let values = decode(dtype, want);
    let mut wrong = vec![
        ("zeros".to_owned(), encode(dtype, &vec![0.0; values.len()])),
        (
            "half of it".to_owned(),
            encode(dtype, &values.iter().map(|value| value * 0.5).collect::<Vec<_>>()),
        ),
        ("one element wrong".to_owned(), one_element(dtype, want, &values)),
    ];
    for input in case.tensors.iter().filter(|tensor| tensor.role == Role::In) {
        if input.elements() >= values.len() as u64 {
            let elements = case.first(&input.name, values.len());
            wrong.push((format!("a copy of {}", input.name), encode(dtype, &elements)));
        }
    }
    wrong
}

/// The element in the middle, moved by as much as elements typically are.
fn one_element(dtype: DType, want: &[u8], values: &[f64]) -> Vec<u8> {
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let typical = (finite.iter().map(|value| value * value).sum::<f64>() / finite.len() as f64).sqrt();
    let index = values.len() / 2;
    let moved = match values[index] {
        value if value.is_finite() => value + if dtype.is_float() { typical } else { 1.0 },
        _ => 0.0,
    };
    let mut wrong = want.to_vec();
    wrong[index * dtype.size()..][..dtype.size()].copy_from_slice(&encode(dtype, &[moved]));
    wrong
}
