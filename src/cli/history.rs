//! `ridgepoint history`: the kept runs, newest first.

use super::args::HistoryArgs;
use super::{Exit, print};
use crate::dirs::Dirs;
use crate::history::{self, Filter, History, Iteration};

/// Lines of the table; `--json` has all.
const LINES: u32 = 50;

pub(super) fn run(args: &HistoryArgs) -> Exit {
    let Some(dirs) = Dirs::find() else {
        print::note("error: there is no home folder to look for the history in; set RIDGEPOINT_DATA_DIR to a folder");
        return Exit::Environment;
    };
    let path = dirs.state.join(history::FILE_NAME);
    if !path.exists() {
        if args.json {
            document(&[]);
        } else {
            print::line("no runs are kept yet: `ridgepoint run KERNEL` makes the first");
        }
        return Exit::Passed;
    }
    let opened = History::open(&path);
    if let Some(message) = &opened.message {
        print::note(format!("history: {message}"));
    }
    let Some(history) = opened.history else {
        return Exit::Environment;
    };
    let filter = Filter {
        operator: args.op.clone(),
        shape: None,
        limit: (!args.json).then_some(LINES),
    };
    match history.list(&filter) {
        Ok(iterations) => {
            if args.json {
                document(&iterations);
            } else {
                table(&iterations);
            }
            Exit::Passed
        }
        Err(error) => {
            print::note(format!("error: {error}"));
            Exit::Environment
        }
    }
}

fn document(iterations: &[Iteration]) {
    print::json(&serde_json::json!({ "schema": 1, "iterations": iterations }));
}

fn table(iterations: &[Iteration]) {
    for run in iterations {
        print::line(format!(
            "{:>6}  {}  {:<24} {:<17} {:>2}/{:<2} {:<24} {}",
            run.id,
            utc(run.time_unix_s),
            run.operator.as_deref().unwrap_or("?"),
            run.status.name(),
            run.passed,
            run.shapes,
            run.device,
            run.kernel_path
        ));
    }
}

/// `2026-12-01 18:09` in UTC, by the civil-from-days algorithm (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn utc(unix_s: f64) -> String {
    let seconds = unix_s as i64;
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 {
        month_index + 3
    } else {
        month_index - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", rest / 3600, rest / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn dates_are_right_around_leap_days() {
        assert_eq!(utc(0.0), "1970-01-01 00:00");
        assert_eq!(utc(951_782_400.0), "2000-02-29 00:00");
        assert_eq!(utc(1_796_148_540.0), "2026-12-01 18:09");
        assert_eq!(utc(4_107_542_399.0), "2100-02-28 23:59");
    }
}
