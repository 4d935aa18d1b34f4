//! Numbers as the screens show them: three significant digits, always with a unit.

/// Three significant digits without an exponent for what people read: `30.9`, `0.0042`, `1230`.
pub fn three(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..9).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let decimals = usize::try_from(2 - magnitude).unwrap_or(0);
    format!("{value:.decimals$}")
}

fn scaled(value: f64, base: f64, prefixes: &[&str]) -> String {
    let mut value = value;
    let mut step = 0;
    while value.abs() >= base && step + 1 < prefixes.len() {
        value /= base;
        step += 1;
    }
    format!("{} {}", three(value), prefixes[step])
}

/// `30.9 µs`, `1.24 ms`, `2.50 s`.
pub fn time(microseconds: f64) -> String {
    if microseconds >= 1e6 {
        format!("{} s", three(microseconds / 1e6))
    } else if microseconds >= 1e3 {
        format!("{} ms", three(microseconds / 1e3))
    } else {
        format!("{} µs", three(microseconds))
    }
}

/// `12.4 MB`; powers of 1000, as bandwidths count.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, 1e3, &["B", "kB", "MB", "GB", "TB"])
}

/// `4.10 TB/s`.
pub fn bandwidth(bytes_per_second: f64) -> String {
    format!("{}/s", bytes_string(bytes_per_second))
}

fn bytes_string(value: f64) -> String {
    bytes(value)
}

/// `785 TFLOP/s`.
pub fn flop_rate(flops_per_second: f64) -> String {
    scaled(
        flops_per_second,
        1e3,
        &["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"],
    )
}

/// `31.7 MFLOP`.
pub fn flops(flops: f64) -> String {
    scaled(flops, 1e3, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"])
}

/// `1.24 M`, for counts.
pub fn count(value: u64) -> String {
    if value < 10_000 {
        return grouped(value);
    }
    scaled(value as f64, 1e3, &["", "k", "M", "G", "T"])
}

/// `31 682 560`, with thin groups of three.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `85.4 %` from 0.854.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if share > 0.0 && percent < 0.01 {
        return "< 0.01 %".to_owned();
    }
    let decimals = if percent >= 99.95 || percent == 0.0 {
        0
    } else if percent >= 10.0 {
        1
    } else {
        2
    };
    format!("{percent:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(time(30.94), "30.9 µs");
        assert_eq!(time(1240.0), "1.24 ms");
        assert_eq!(bytes(12_400_000.0), "12.4 MB");
        assert_eq!(bandwidth(4.1e12), "4.10 TB/s");
        assert_eq!(flop_rate(785e12), "785 TFLOP/s");
        assert_eq!(percent(0.8541), "85.4 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.000_001), "< 0.01 %");
        assert_eq!(grouped(31_682_560), "31 682 560");
        assert_eq!(three(0.0), "0");
        assert_eq!(three(f64::INFINITY), "inf");
    }
}
