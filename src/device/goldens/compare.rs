//! Comparing the outputs of one golden from two places.

use serde::Deserialize;

use super::{Element, from_bytes};
use crate::dtype::DType;

/// How far two results may be apart: it is enough to satisfy one of the limits that are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Units in the last place: steps between codes in value order.
    #[serde(default)]
    pub ulp: u64,
    /// Absolute.
    #[serde(default)]
    pub abs: f64,
    /// Relative to the wanted value.
    #[serde(default)]
    pub rel: f64,
}

fn dtype(element: Element) -> Option<DType> {
    Some(match element {
        Element::F16 => DType::F16,
        Element::Bf16 => DType::Bf16,
        Element::F32 => DType::F32,
        Element::F64 => DType::F64,
        _ => return None,
    })
}

/// Steps between two codes in value order; both zeros are one place.
pub(super) fn steps(element: Element, a: u64, b: u64) -> u64 {
    let sign = 1_u64 << (element.size() * 8 - 1);
    let rank = |bits: u64| {
        let magnitude = i128::from(bits & (sign - 1));
        if bits & sign == 0 { magnitude } else { -magnitude }
    };
    (rank(a) - rank(b)).unsigned_abs() as u64
}

fn close(element: Element, tolerance: Tolerance, got: u64, want: u64) -> bool {
    if got == want {
        return true;
    }
    let Some(dtype) = dtype(element) else { return false };
    let (x, y) = (dtype.decode(got), dtype.decode(want));
    if x.is_nan() || y.is_nan() {
        return x.is_nan() && y.is_nan();
    }
    if x.is_infinite() != y.is_infinite() {
        // An overflow may come one step early or late.
        return tolerance.ulp > 0 && steps(element, got, want) <= tolerance.ulp;
    }
    (tolerance.ulp > 0 && steps(element, got, want) <= tolerance.ulp)
        || (tolerance.abs > 0.0 && (x - y).abs() <= tolerance.abs)
        || (tolerance.rel > 0.0 && (x - y).abs() <= tolerance.rel * y.abs())
}

/// What differs, in words; `None` if nothing does.
pub(super) fn difference(element: Element, tolerance: Tolerance, got: &[u8], want: &[u8]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} bytes against {}", got.len(), want.len()));
    }
    let (got, want) = (from_bytes(got, element), from_bytes(want, element));
    let pairs = got.iter().zip(&want).enumerate();
    let bad: Vec<_> = pairs
        .filter(|(_, (got, want))| !close(element, tolerance, **got, **want))
        .collect();
    let (first, (one, other)) = bad.first()?;
    let worst = bad
        .iter()
        .map(|(_, (got, want))| steps(element, **got, **want))
        .max()
        .unwrap_or(0);
    Some(format!(
        "{} of {} elements differ; element {first} is {one:#x}, wanted {other:#x}; at most {worst} steps apart",
        bad.len(),
        got.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(tolerance: Tolerance, got: f32, want: f32) -> bool {
        difference(Element::F32, tolerance, &got.to_le_bytes(), &want.to_le_bytes()).is_none()
    }

    #[test]
    fn exact_means_bits_but_for_nan() {
        let exact = Tolerance::default();
        assert!(same(exact, 1.5, 1.5));
        assert!(same(exact, f32::NAN, -f32::NAN));
        assert!(!same(exact, 0.0, -0.0));
        assert!(!same(exact, 1.0, 1.0_f32.next_up()));
        assert!(!same(exact, f32::NAN, 1.0));
    }

    #[test]
    fn limits_are_alternatives() {
        let ulp = Tolerance {
            ulp: 2,
            ..Tolerance::default()
        };
        assert!(same(ulp, 1.0, 1.0_f32.next_up().next_up()));
        assert!(!same(ulp, 1.0, 1.000_001));
        assert!(same(ulp, f32::MAX, f32::INFINITY));
        let abs = Tolerance {
            abs: 1e-3,
            ..Tolerance::default()
        };
        assert!(same(abs, 0.0, 9e-4) && !same(abs, 0.0, 2e-3));
        let rel = Tolerance {
            rel: 1e-3,
            ..Tolerance::default()
        };
        assert!(same(rel, 1000.0, 1000.9) && !same(rel, 1000.0, 1002.0));
    }

    #[test]
    fn integers_have_no_tolerance() {
        let ulp = Tolerance {
            ulp: 5,
            ..Tolerance::default()
        };
        let text = difference(Element::B16, ulp, &[1, 0, 9, 0], &[1, 0, 8, 0]).expect("they differ");
        assert!(
            text.starts_with("1 of 2 elements differ; element 1 is 0x9, wanted 0x8"),
            "{text}"
        );
    }
}
