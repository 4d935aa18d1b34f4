//! Facts about the comparison: contracts, counts, the map and the names of patterns.

use super::*;
use crate::device::evidence::compare;
use crate::verdict::OutputEvidence;

const CLOSE: Contract = Contract::Close {
    atol: 1e-3,
    rtol: 1e-2,
    allowed_share: 0.0,
    cap: 4.0,
    rel_l2: 1e-2,
};

fn spec(dtype: DType, dims: &[u64], contract: Contract) -> CompareSpec {
    CompareSpec {
        dtype,
        dims: dims.to_vec(),
        contract,
        poison: dtype.encode(-777.0),
    }
}

fn bytes(dtype: DType, values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    values
        .into_iter()
        .flat_map(|value| dtype.encode(value).to_le_bytes()[..dtype.size()].to_vec())
        .collect()
}

/// A matrix of distinct values, and what becomes of it when `wrong(row, col, right)` replaces it.
fn matrix(rows: u64, cols: u64, wrong: impl Fn(u64, u64, f64) -> f64) -> OutputEvidence {
    let dtype = DType::F32;
    let right = |index: u64| 1.0 + (super::super::element::mix(index + 1) % 1000) as f64 / 100.0;
    let want = bytes(dtype, (0..rows * cols).map(right));
    let got = bytes(
        dtype,
        (0..rows * cols).map(|index| wrong(index / cols, index % cols, right(index))),
    );
    compare(&got, &want, &spec(dtype, &[rows, cols], CLOSE)).unwrap()
}

fn pattern(rows: u64, cols: u64, wrong: impl Fn(u64, u64, f64) -> f64) -> String {
    matrix(rows, cols, wrong).pattern.unwrap_or_default()
}

#[test]
fn equal_tensors_hold_every_contract() {
    let values: Vec<f64> = (0..40_000).map(|index| f64::from(index % 100)).collect();
    let data = bytes(DType::Bf16, values);
    let codes = Contract::Codes {
        max_distance: 0,
        allowed_share: 0.0,
    };
    for contract in [CLOSE, Contract::Exact, codes] {
        let evidence = compare(&data, &data, &spec(DType::Bf16, &[400, 100], contract)).unwrap();
        assert_eq!(
            (evidence.violation, evidence.mismatches, evidence.max_ulp),
            (None, 0, 0)
        );
        assert!(evidence.map.is_empty() && evidence.first.is_none() && evidence.worst.is_none());
        assert_eq!(evidence.rel_l2, 0.0);
    }
}

#[test]
fn numbers_of_a_known_difference() {
    let want = bytes(DType::F32, [1.0, 2.0, -4.0, 0.0]);
    let got = bytes(DType::F32, [1.0, 2.5, -4.0, 0.25]);
    let evidence = compare(&got, &want, &spec(DType::F32, &[2, 2], CLOSE)).unwrap();
    assert_eq!(
        (evidence.max_abs, evidence.max_rel, evidence.mismatches),
        (0.5, 0.25, 2)
    );
    assert!((evidence.rms - (0.3125_f64 / 4.0).sqrt()).abs() < 1e-15);
    assert!((evidence.rel_l2 - (0.3125_f64 / 21.0).sqrt()).abs() < 1e-15);
    assert_eq!(evidence.first.unwrap().index, [0, 1]);
    // 0.25 over a tolerance of 0.001 is worse than 0.5 over 0.021.
    let worst = evidence.worst.unwrap();
    assert_eq!((worst.index, worst.expected, worst.got), (vec![1, 1], 0.0, 0.25));
    assert_eq!(evidence.map, [[0.0, 1.0], [0.0, 1.0]]);
}

#[test]
fn a_share_may_be_off_but_not_beyond_the_cap() {
    let contract = |allowed_share| Contract::Close {
        atol: 0.1,
        rtol: 0.0,
        allowed_share,
        cap: 4.0,
        rel_l2: 1.0,
    };
    let want = bytes(DType::F32, [1.0; 100]);
    let with = |error: f64| {
        bytes(
            DType::F32,
            (0..100).map(|index| if index == 50 { 1.0 + error } else { 1.0 }),
        )
    };
    let check = |error, share| compare(&with(error), &want, &spec(DType::F32, &[100], contract(share))).unwrap();
    assert_eq!(check(0.3, 0.02).violation, None);
    assert!(check(0.3, 0.0).violation.unwrap().contains("1 of 100"));
    assert!(check(0.5, 0.02).violation.unwrap().contains("4 times"));
}

#[test]
fn the_whole_tensor_counts_too() {
    let contract = Contract::Close {
        atol: 1.0,
        rtol: 0.0,
        allowed_share: 0.0,
        cap: 4.0,
        rel_l2: 0.1,
    };
    let (want, got) = (bytes(DType::F32, [0.5; 64]), bytes(DType::F32, [0.25; 64]));
    let evidence = compare(&got, &want, &spec(DType::F32, &[64], contract.clone())).unwrap();
    assert!(evidence.mismatches == 0 && evidence.violation.unwrap().contains("relative L2"));
    let nothing = bytes(DType::F32, [0.0; 64]);
    assert_eq!(
        compare(&got, &nothing, &spec(DType::F32, &[64], contract))
            .unwrap()
            .violation,
        None
    );
}

#[test]
fn codes_count_distance_and_share() {
    let contract = |max_distance, allowed_share| Contract::Codes {
        max_distance,
        allowed_share,
    };
    let want = bytes(DType::E4m3fn, [1.0, 2.0, 3.0, 4.0]);
    let mut got = want.clone();
    got[2] += 1;
    let check = |got: &[u8], contract| compare(got, &want, &spec(DType::E4m3fn, &[4], contract)).unwrap();
    assert_eq!(check(&got, contract(1, 0.25)).violation, None);
    assert!(
        check(&got, contract(1, 0.2))
            .violation
            .unwrap()
            .contains("another code")
    );
    got[2] += 1;
    let evidence = check(&got, contract(1, 1.0));
    assert!(evidence.violation.unwrap().contains("more than 1 codes") && evidence.max_ulp == 2);
}

#[test]
fn nan_and_infinity_must_match() {
    let want = bytes(DType::F32, [f64::NAN, f64::INFINITY, 1.0, 1.0]);
    let right = compare(&want, &want, &spec(DType::F32, &[4], CLOSE)).unwrap();
    assert_eq!((right.violation, right.nan, right.inf), (None, 1, 1));
    for wrong in [
        [0.0, f64::INFINITY, 1.0, 1.0],
        [f64::NAN, f64::NEG_INFINITY, 1.0, 1.0],
        [f64::NAN, f64::INFINITY, f64::NAN, 1.0],
    ] {
        let evidence = compare(&bytes(DType::F32, wrong), &want, &spec(DType::F32, &[4], CLOSE)).unwrap();
        assert!(evidence.violation.is_some() && evidence.mismatches == 1, "{wrong:?}");
        assert_eq!(evidence.max_abs, f64::INFINITY);
    }
}

#[test]
fn exact_means_bits() {
    let (zero, negative) = (bytes(DType::F32, [0.0]), bytes(DType::F32, [-0.0]));
    let check = |contract| {
        compare(&negative, &zero, &spec(DType::F32, &[1], contract))
            .unwrap()
            .violation
    };
    assert!(check(Contract::Exact).is_some());
    assert_eq!(check(CLOSE), None);
}

#[test]
fn zero_copied_and_halved_answers_fail() {
    for wrong in [|_: f64| 0.0, |right: f64| right * 0.5] {
        assert!(matrix(64, 64, |_, _, right| wrong(right)).violation.is_some());
    }
}

#[test]
fn chunks_and_threads_do_not_change_the_result() {
    let size = 5 * CHUNK + 77;
    let want = bytes(DType::F32, (0..size).map(|index| (index % 17) as f64));
    let got = bytes(
        DType::F32,
        (0..size).map(|index| (index % 17) as f64 + if index % 1000 == 999 { 0.5 } else { 1e-4 }),
    );
    let spec = spec(DType::F32, &[size], CLOSE);
    let (first, second) = (totals(&got, &want, &spec), totals(&got, &want, &spec));
    assert_eq!(first, second);
    assert_eq!(first.part.mismatches, size / 1000);
    assert_eq!(first.part.first, 999);
    assert_eq!(first.part.last, (size / 1000) * 1000 - 1);
}

#[test]
fn the_map_shows_shares() {
    let evidence = matrix(
        600,
        1200,
        |row, col, right| if row >= 550 && col < 25 { 99.0 } else { right },
    );
    assert_eq!((evidence.map.len(), evidence.map[0].len()), (12, 24));
    assert_eq!(evidence.map[11][0], 0.5);
    assert_eq!(evidence.map.iter().flatten().sum::<f32>(), 0.5);
}

#[test]
fn patterns_of_place_have_names() {
    let tail = |row, _, right| {
        if row >= 960 {
            right + 50.0 + f64::from(row as u32)
        } else {
            right
        }
    };
    assert_eq!(pattern(1000, 64, tail), "only rows >= 960: the last partial tile");
    let noise = |row: u64, col: u64| 50.0 + ((row * 7 + col * 13) % 31) as f64;
    assert_eq!(
        pattern(200, 256, |row, col, right| if col % 32 == 5 {
            right + noise(row, col)
        } else {
            right
        }),
        "every 32nd column (column % 32 == 5)"
    );
    assert_eq!(
        pattern(512, 64, |row, col, right| if row % 128 >= 96 {
            right + noise(row, col)
        } else {
            right
        }),
        "one row block in 4 (row % 128 in 96..128)"
    );
    assert_eq!(
        pattern(64, 64, |row, col, right| if col == 9 {
            right + noise(row, col)
        } else {
            right
        }),
        "only column 9"
    );
    assert_eq!(
        pattern(64, 64, |row, col, right| if row == 3 {
            right + noise(row, col)
        } else {
            right
        }),
        "only row 3"
    );
    assert_eq!(
        pattern(64, 64, |row, col, right| if (row, col) == (3, 3) {
            99.0
        } else {
            right
        }),
        "a single element"
    );
}

#[test]
fn patterns_of_value_have_names() {
    assert_eq!(
        pattern(64, 64, |_, _, right| right * 0.5),
        "all elements, constant factor 0.5"
    );
    assert_eq!(
        pattern(64, 64, |_, _, right| right + 2.0),
        "all elements, constant offset 2"
    );
    assert_eq!(pattern(64, 64, |_, _, _| -777.0), "all elements, never written");
    assert_eq!(pattern(64, 64, |_, _, _| 0.0), "all elements, 0 instead of a value");
    assert_eq!(
        pattern(64, 64, |_, _, _| f64::NAN),
        "all elements, NaN instead of a value"
    );
    let tail = |row, _, right| if row >= 60 { -777.0 } else { right };
    assert_eq!(pattern(64, 64, tail), "only rows >= 60, never written");
}

#[test]
fn rearrangements_have_names() {
    let right = |index: u64| 1.0 + (super::super::element::mix(index + 1) % 1000) as f64 / 100.0;
    let transposed = pattern(48, 80, |row, col, _| {
        let flat = row * 80 + col;
        right((flat % 48) * 80 + flat / 48)
    });
    assert_eq!(transposed, "all elements, transposed");
    let shifted = pattern(48, 80, |row, col, _| right((row * 80 + col).saturating_sub(1)));
    assert_eq!(shifted, "all elements, the value of the element before");
    assert!(!pattern(48, 80, |row, col, _| right(row * 80 + col + 1_000_000)).contains("transposed"));
}
