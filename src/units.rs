//! How numbers look: three significant digits and a unit that keeps them short.

/// Digits that carry information at the accuracy of a timing.
const SIGNIFICANT: i32 = 3;
/// Shown in place of what is not a number.
const NOT_A_NUMBER: &str = "-";
/// Below this, a time in microseconds is shown in nanoseconds.
const NANOSECONDS_BELOW_US: f64 = 0.1;
const DECIMAL: f64 = 1000.0;

/// A value with three significant digits and no exponent: `0.00123`, `12.3`, `1230`.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let rounded = round_significant(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    let decimals = (SIGNIFICANT - 1 - magnitude).max(0) as usize;
    format!("{rounded:.decimals$}")
}

/// The value rounded to its three leading digits, so that 999.6 is known to be 1000 before a unit is chosen.
fn round_significant(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let magnitude = value.abs().log10().floor() as i32;
    let step = 10_f64.powi((magnitude - SIGNIFICANT + 1).abs());
    if magnitude >= SIGNIFICANT - 1 {
        (value / step).round() * step
    } else {
        (value * step).round() / step
    }
}

/// A value in the largest of the units, each 1000 times the one before, that keeps it at 1 or above.
fn scaled(value: f64, units: &[&str]) -> String {
    if !value.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    let mut value = round_significant(value);
    let mut unit = 0;
    while value.abs() >= DECIMAL && unit + 1 < units.len() {
        value /= DECIMAL;
        unit += 1;
    }
    format!("{} {}", significant(value), units[unit])
}

/// A time given in microseconds: `9.02 ns`, `0.870 µs`, `53.1 µs`, `1.04 ms`, `2.03 s`.
pub fn time_us(microseconds: f64) -> String {
    if microseconds != 0.0 && microseconds.abs() < NANOSECONDS_BELOW_US {
        return scaled(microseconds * DECIMAL, &["ns"]);
    }
    scaled(microseconds, &["µs", "ms", "s"])
}

/// A time given in milliseconds.
pub fn time_ms(milliseconds: f64) -> String {
    time_us(milliseconds * DECIMAL)
}

/// A size in decimal units: `512 B`, `4.19 MB`, `19.2 GB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, &["B", "KB", "MB", "GB", "TB"])
}

/// Bytes per second: `3.72 TB/s`.
pub fn bandwidth(bytes_per_second: f64) -> String {
    scaled(bytes_per_second, &["B/s", "KB/s", "MB/s", "GB/s", "TB/s"])
}

/// A count of floating-point operations: `19.8 TFLOP`.
pub fn flops(count: f64) -> String {
    scaled(count, &["FLOP", "KFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"])
}

/// Floating-point operations per second: `785 TFLOP/s`.
pub fn flop_rate(per_second: f64) -> String {
    scaled(
        per_second,
        &["FLOP/s", "KFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"],
    )
}

/// Arithmetic intensity: `206 FLOP/B`.
pub fn intensity(flops_per_byte: f64) -> String {
    scaled(flops_per_byte, &["FLOP/B"])
}

/// A fraction as a percentage: 0.873 is `87.3%`.
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    format!("{}%", significant(fraction * 100.0))
}

/// A ratio of two times: `1.07x`.
pub fn ratio(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    format!("{}x", significant(ratio))
}

/// A whole number with its thousands parted: `65,536`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_whatever_the_size() {
        for (value, text) in [
            (0.0, "0"),
            (0.001_234_9, "0.00123"),
            (0.999_6, "1.00"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (99.96, "100"),
            (123.4, "123"),
            (1234.0, "1230"),
            (-5.678, "-5.68"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn units_change_with_the_rounded_value() {
        for (microseconds, text) in [
            (0.009_02, "9.02 ns"),
            (0.5, "0.500 µs"),
            (53.14, "53.1 µs"),
            (999.4, "999 µs"),
            (999.6, "1.00 ms"),
            (20_000.0, "20.0 ms"),
            (2_034_305.0, "2.03 s"),
            (7_200_000_000.0, "7200 s"),
            (0.0, "0 µs"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(time_us(microseconds), text);
        }
        assert_eq!(time_ms(1.5), "1.50 ms");
    }

    #[test]
    fn every_quantity_has_its_unit() {
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(bytes(19.2e9), "19.2 GB");
        assert_eq!(bytes(2.5e15), "2500 TB");
        assert_eq!(bandwidth(3.716e12), "3.72 TB/s");
        assert_eq!(flops(19.8e12), "19.8 TFLOP");
        assert_eq!(flop_rate(785e12), "785 TFLOP/s");
        assert_eq!(intensity(206.04), "206 FLOP/B");
        assert_eq!(percent(0.8731), "87.3%");
        assert_eq!(percent(1.0), "100%");
        assert_eq!(ratio(1.0666), "1.07x");
        assert_eq!(count(65_536), "65,536");
        assert_eq!(count(7), "7");
        assert_eq!(count(1_000_000), "1,000,000");
    }
}
