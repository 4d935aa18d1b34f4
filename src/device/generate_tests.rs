//! Facts about the generator: distributions, exactness, independence.

use super::*;

fn spec(recipe: Recipe, dtype: DType, elements: u64) -> GenerateSpec {
    GenerateSpec {
        recipe,
        dtype,
        elements,
        seed: 3,
        tensor: 0,
        total: 1000,
    }
}

fn values(spec: &GenerateSpec) -> Vec<f64> {
    let mut bytes = vec![0; spec.elements as usize * spec.dtype.size()];
    generate(&mut bytes, spec).unwrap();
    let bits = |index| element::at(spec.dtype, &bytes, index as usize);
    (0..spec.elements).map(|index| spec.dtype.decode(bits(index))).collect()
}

fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

#[test]
fn normal_has_its_moments() {
    let values = values(&spec(Recipe::Normal { mean: 0.5, std: 2.0 }, DType::F32, 200_000));
    let (mean, std) = moments(&values);
    // Five standard errors: 2 / sqrt(200000) = 0.0045 for the mean, about 0.7 of that for the deviation.
    assert!((mean - 0.5).abs() < 0.022, "{mean}");
    assert!((std - 2.0).abs() < 0.016, "{std}");
    assert!(values.iter().any(|value| (value - 0.5).abs() > 6.0));
}

#[test]
fn uniform_stays_inside_and_fills_the_range() {
    let values = values(&spec(Recipe::Uniform { lo: -1.0, hi: 3.0 }, DType::F64, 50_000));
    assert!(values.iter().all(|value| (-1.0..3.0).contains(value)));
    let (mean, std) = moments(&values);
    assert!(
        (mean - 1.0).abs() < 0.03 && (std - 4.0 / 12_f64.sqrt()).abs() < 0.02,
        "{mean} {std}"
    );
}

#[test]
fn wide_covers_its_exponents_in_both_signs() {
    let values = values(&spec(
        Recipe::Wide {
            lo_exp: -10,
            hi_exp: 10,
        },
        DType::Bf16,
        20_000,
    ));
    let exponents: std::collections::BTreeSet<i32> = values.iter().map(|value| libm::ilogb(*value)).collect();
    assert!((-10..=10).all(|exponent| exponents.contains(&exponent)));
    let negative = values.iter().filter(|value| **value < 0.0).count();
    assert!((9_600..10_400).contains(&negative), "{negative}");
}

#[test]
fn outliers_are_as_rare_as_asked() {
    let recipe = Recipe::Outliers {
        std: 1.0,
        every: 100,
        factor: 1000.0,
    };
    let big = values(&spec(recipe, DType::F32, 100_000))
        .iter()
        .filter(|value| value.abs() > 6.5)
        .count();
    // About 1000, less the few that are near zero before the factor.
    assert!((850..1150).contains(&big), "{big}");
}

#[test]
fn ties_are_multiples_and_many() {
    let values = values(&spec(Recipe::Ties { std: 1.0, step: 0.25 }, DType::F32, 10_000));
    assert!(values.iter().all(|value| (value * 4.0).fract() == 0.0));
    let zeros = values.iter().filter(|value| **value == 0.0).count();
    assert!(zeros > 800, "{zeros}");
}

#[test]
fn permutations_hit_everything_once() {
    for elements in [1, 2, 3, 7, 64, 1000, 4097] {
        let mut seen: Vec<f64> = values(&spec(Recipe::Permutation, DType::I64, elements));
        let in_order = seen.is_sorted();
        seen.sort_by(f64::total_cmp);
        assert!(
            seen.iter().enumerate().all(|(index, value)| *value == index as f64),
            "{elements}"
        );
        assert!(elements < 64 || !in_order, "{elements}");
    }
}

#[test]
fn offsets_rise_from_zero_to_the_total() {
    for elements in [2, 3, 8, 500, 1001] {
        let values = values(&spec(Recipe::Offsets { total: "t".to_owned() }, DType::I32, elements));
        assert_eq!((values[0], *values.last().unwrap()), (0.0, 1000.0));
        assert!(
            values.windows(2).all(|pair| pair[0] < pair[1]),
            "{elements}: {values:?}"
        );
    }
    let parts = values(&spec(Recipe::Offsets { total: "t".to_owned() }, DType::I32, 11));
    assert!(
        parts.windows(2).any(|pair| (pair[1] - pair[0] - 100.0).abs() > 10.0),
        "uneven: {parts:?}"
    );
}

#[test]
fn integers_cover_their_range_and_no_more() {
    let recipe = Recipe::Integers { lo: -3, hi: 4 };
    for dtype in [DType::I64, DType::I32, DType::I8, DType::F32] {
        let seen: std::collections::BTreeSet<i64> = values(&spec(recipe.clone(), dtype, 2_000))
            .iter()
            .map(|value| *value as i64)
            .collect();
        assert_eq!(
            seen.into_iter().collect::<Vec<_>>(),
            (-3..4).collect::<Vec<_>>(),
            "{dtype}"
        );
    }
}

#[test]
fn seeds_and_tensors_differ_and_repeat() {
    let base = spec(Recipe::Normal { mean: 0.0, std: 1.0 }, DType::F32, 64);
    let seed = GenerateSpec {
        seed: 4,
        ..base.clone()
    };
    let tensor = GenerateSpec {
        tensor: 1,
        ..base.clone()
    };
    assert_eq!(values(&base), values(&base));
    assert_ne!(values(&base), values(&seed));
    assert_ne!(values(&base), values(&tensor));
}

#[test]
fn narrow_floats_saturate_instead_of_overflowing() {
    let values = values(&spec(Recipe::Constant { value: 1e6 }, DType::E4m3fn, 3));
    assert_eq!(values, [448.0; 3]);
}

#[test]
fn nonsense_is_refused_with_its_reason() {
    let empty = program(&spec(Recipe::Integers { lo: 4, hi: 4 }, DType::I32, 3)).unwrap_err();
    assert!(empty.contains("[4, 4)"), "{empty}");
    assert!(program(&spec(Recipe::Ties { std: 1.0, step: 0.0 }, DType::F32, 3)).is_err());
    assert!(program(&spec(Recipe::Constant { value: f64::NAN }, DType::F32, 3)).is_err());
}
