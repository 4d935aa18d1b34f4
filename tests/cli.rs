//! The command line from outside: right verdicts, exit statuses and advice, whatever it is given.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stderr, reason = "a skipped test says why")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ridgepoint::measure::{Event, RunReport, RunRequest};
use ridgepoint::verdict::Class;
use ridgepoint::worker::client::{Options, Worker};
use ridgepoint::worker::protocol::{FromWorker, ToWorker};
use serde_json::Value;
use tempfile::TempDir;

/// The smallest twin of the operator that all fixtures are for.
const SMALL: [&str; 4] = ["--device", "emulator", "--shape", "small-one"];

/// A home of its own for each test: nothing of the user's is read or written.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ridgepoint"));
        command
            .args(args)
            .env("RIDGEPOINT_DATA_DIR", self.path().join("ridgepoint"))
            .env_remove("RIDGEPOINT_NVRTC")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// `run FIXTURE` on the emulator's smallest shape, as a document.
    fn verdict(&self, kernel: &str, more: &[&str]) -> (Value, i32) {
        let args: Vec<&str> = ["run", kernel, "--json"]
            .iter()
            .chain(&SMALL)
            .chain(more)
            .copied()
            .collect();
        let output = self.run(&args);
        let document = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", text(&output.stdout), text(&output.stderr)));
        (document, output.status.code().unwrap())
    }

    fn history_file(&self) -> PathBuf {
        self.path().join("ridgepoint/state/history.sqlite3")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fixture(name: &str) -> String {
    format!("tests/fixtures/{name}")
}

/// Runs a fixture and holds its class, exit status, reason and that it says what to do next.
fn expect(kernel: &str, more: &[&str], class: &str, exit: i32, reason: &str) -> Value {
    let home = Home::new();
    let (report, code) = home.verdict(kernel, more);
    assert_eq!((&report["status"], code), (&Value::from(class), exit), "{report:#}");
    let said = report["reason"].as_str().unwrap();
    assert!(said.contains(reason), "{said}");
    assert!(
        report["next"].as_array().is_some_and(|next| !next.is_empty()),
        "{report:#}"
    );
    report
}

#[test]
fn a_right_kernel_passes_without_a_compiler() {
    let home = Home::new();
    let (report, code) = home.verdict("rms_norm/starter", &[]);
    assert_eq!((&report["status"], code), (&Value::from("passed"), 0), "{report:#}");
    let shape = &report["shapes"][0];
    assert_eq!(shape["verify"]["repeats"], 2);
    assert!(shape["timing"].is_null(), "the emulator measures no times");
    assert!(shape["counters"]["ctas"].as_u64().unwrap() > 0);
    assert_eq!(shape["roofline"]["bound"], "memory");
    assert!(
        report["kernel"]["compile"]["compiler"]
            .as_str()
            .unwrap()
            .contains("shipped PTX"),
        "{report:#}"
    );
}

#[test]
fn a_missing_file_is_a_wrong_call() {
    let output = Home::new().run(&["run", "no_such_kernel.cu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("no file `no_such_kernel.cu`"),
        "{}",
        text(&output.stderr)
    );
    assert!(text(&output.stderr).contains("next: "));
    assert!(output.stdout.is_empty());
}

#[test]
fn wrong_names_in_the_call_are_said_with_the_right_ones() {
    let home = Home::new();
    let starter = "rms_norm/starter";
    for (args, said) in [
        (vec!["run", starter, "--op", "rms_nrom"], "did you mean `rms_norm`"),
        (vec!["run", starter, "--shape", "9999"], "no shape `9999`"),
        (vec!["run", starter, "--dist", "sideways"], "no distribution `sideways`"),
        (vec!["run", starter, "--tune", "BLOCK"], "expected NAME=VALUE"),
        (vec!["run", starter, "--kernel-limit", "0"], "expected seconds over 0"),
        (vec!["run", "rms_norm/no_such"], "rms_norm/starter"),
    ] {
        let output = home.run(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            text(&output.stderr).contains(said),
            "{args:?}: {}",
            text(&output.stderr)
        );
    }
    let output = home.run(&["run", starter, "--op", "rms_nrom", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&document["status"], output.status.code()),
        (&Value::from("invalid_kernel"), Some(2))
    );
}

#[test]
fn an_unknown_operator_in_the_header_is_the_kernels_mistake() {
    let home = Home::new();
    let path = home.path().join("kernel.ptx");
    let kernel = fs::read_to_string(fixture("writes_nothing.ptx")).unwrap();
    fs::write(&path, kernel.replace("\"rms_norm\"", "\"rms_nrom\"")).unwrap();
    let output = home.run(&["run", path.to_str().unwrap(), "--device", "emulator", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["status"], output.status.code()),
        (&Value::from("invalid_kernel"), Some(1))
    );
    assert_eq!(report["evidence"][0]["at"]["line"], 2, "{report:#}");
}

#[test]
fn a_broken_header_is_shown_with_its_place() {
    let report = expect(&fixture("broken_header.ptx"), &[], "invalid_kernel", 1, "gird");
    assert_eq!(report["evidence"][0]["at"]["line"], 6, "{report:#}");
}

#[test]
fn out_of_bounds_names_the_buffer() {
    let report = expect(&fixture("out_of_bounds.ptx"), &[], "memory_fault", 1, "`x`");
    let access = &report["shapes"][0]["evidence"][0];
    assert_eq!(
        (&access["kind"], &access["buffer"]),
        (&Value::from("access"), &Value::from("x")),
        "{report:#}"
    );
    assert_eq!(access["offset"], 65536);
}

#[test]
fn a_hang_ends_at_its_limit() {
    let began = Instant::now();
    expect(
        &fixture("hang.ptx"),
        &["--kernel-limit", "1"],
        "timeout",
        1,
        "did not finish",
    );
    assert!(began.elapsed() > Duration::from_millis(900));
}

#[test]
fn a_deadlock_says_who_waits() {
    let report = expect(&fixture("deadlock.ptx"), &[], "barrier_error", 1, "");
    assert_eq!(report["shapes"][0]["evidence"][0]["kind"], "waiting", "{report:#}");
}

#[test]
fn writing_nothing_is_told_apart_from_writing_wrong() {
    let report = expect(
        &fixture("writes_nothing.ptx"),
        &[],
        "wrong_numbers",
        1,
        "was not written at all",
    );
    let output = &report["shapes"][0]["evidence"][0];
    assert_eq!(output["unwritten"], output["elements"]);
}

#[test]
fn a_terabyte_is_refused_by_arithmetic() {
    let report = expect(&fixture("terabyte.ptx"), &[], "out_of_memory", 1, "1.0 TiB");
    let note = report["shapes"][0]["evidence"][0]["text"].as_str().unwrap();
    assert!(note.contains("scratch `partial` needs 1.0 TiB"), "{note}");
}

#[test]
fn an_unknown_instruction_is_named_with_its_line() {
    let report = expect(&fixture("unknown_instruction.ptx"), &[], "unsupported", 1, "frobnicate");
    assert!(report.to_string().contains("frobnicate"));
}

#[test]
fn changed_inputs_are_noticed() {
    expect(&fixture("writes_input.ptx"), &[], "mutated_input", 1, "`x`");
}

#[test]
fn files_that_are_no_kernels_are_refused() {
    let home = Home::new();
    let latin = home.path().join("latin.cu");
    fs::write(&latin, b"// caf\xe9\n").unwrap();
    let (report, code) = home.verdict(latin.to_str().unwrap(), &[]);
    assert_eq!((&report["status"], code), (&Value::from("invalid_kernel"), 1));
    assert!(report["reason"].as_str().unwrap().contains("not UTF-8"), "{report:#}");
    let large = home.path().join("large.cu");
    // Sparse: 100 MB that cost nothing.
    fs::File::create(&large).unwrap().set_len(100 << 20).unwrap();
    let (report, code) = home.verdict(large.to_str().unwrap(), &[]);
    assert_eq!((&report["status"], code), (&Value::from("invalid_kernel"), 1));
    assert!(
        report["reason"].as_str().unwrap().contains("the limit is"),
        "{report:#}"
    );
    let empty = home.path().join("empty.cu");
    fs::write(&empty, "").unwrap();
    assert_eq!(home.verdict(empty.to_str().unwrap(), &[]).1, 1);
}

#[test]
fn cuda_without_a_compiler_says_how_to_get_one() {
    let home = Home::new();
    let mut command = home.command(&["run", &fixture("broken.cu"), "--json", "--device", "emulator"]);
    // A path that holds no NVRTC turns the search off.
    let output = command
        .env("RIDGEPOINT_NVRTC", home.path().join("nothing.so"))
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["status"], output.status.code()),
        (&Value::from("environment"), Some(3)),
        "{report:#}"
    );
    assert!(report["next"].to_string().contains("toolchain install"), "{report:#}");
}

#[test]
fn a_source_that_does_not_compile_shows_the_line() {
    let home = Home::new();
    let (report, code) = home.verdict(&fixture("broken.cu"), &[]);
    if report["status"] == "environment" {
        eprintln!("skipped: there is no CUDA C++ compiler here: {}", report["reason"]);
        assert_eq!(code, 3);
        return;
    }
    assert_eq!(
        (&report["status"], code),
        (&Value::from("compile_error"), 1),
        "{report:#}"
    );
    assert_eq!(report["evidence"][0]["at"]["line"], 10, "{report:#}");
}

#[test]
fn devices_that_are_not_there_are_the_environments_fault() {
    let home = Home::new();
    for device in ["cuda:99", "quantum", "emulator:abacus"] {
        let output = home.run(&["run", "rms_norm/starter", "--device", device, "--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&report["status"], output.status.code()),
            (&Value::from("environment"), Some(3)),
            "{device}"
        );
        assert!(!report["next"].as_array().unwrap().is_empty());
    }
}

#[test]
fn times_are_not_compared_on_the_emulator() {
    let home = Home::new();
    let args = [
        "compare",
        "rms_norm/starter",
        "rms_norm/starter",
        "--device",
        "emulator",
        "--shape",
        "small-one",
    ];
    let output = home.run(&args);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout);
    assert!(
        said.contains("times are not measured on the emulator") && said.contains("next:"),
        "{said}"
    );
}

#[test]
fn text_and_documents_do_not_mix() {
    let home = Home::new();
    let output = home.run(&[
        "run",
        &fixture("writes_nothing.ptx"),
        "--device",
        "emulator",
        "--shape",
        "small-tail",
    ]);
    let said = text(&output.stdout);
    assert!(
        said.contains("small-tail") && said.contains("wrong_numbers") && said.contains("█"),
        "{said}"
    );
    assert!(serde_json::from_str::<Value>(&said).is_err());
}

#[test]
fn runs_are_kept_with_their_lineage() {
    let home = Home::new();
    let path = home.path().join("kernel.ptx");
    let kernel = fs::read_to_string(fixture("writes_nothing.ptx")).unwrap();
    for round in 0..2 {
        fs::write(&path, format!("{kernel}// round {round}\n")).unwrap();
        home.verdict(path.to_str().unwrap(), &[]);
    }
    home.verdict(path.to_str().unwrap(), &["--no-history"]);
    let output = home.run(&["history", "--op", "rms_norm", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let runs = document["iterations"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{document:#}");
    assert_eq!(runs[0]["parent"], runs[1]["id"]);
    assert_ne!(runs[0]["source_sha256"], runs[1]["source_sha256"]);
    assert_eq!(runs[0]["status"], "wrong_numbers");
}

#[test]
fn a_history_that_cannot_be_used_does_not_stop_a_run() {
    // Written by a newer version: untouched.
    let home = Home::new();
    home.verdict("rms_norm/starter", &[]);
    let file = home.history_file();
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.pragma_update(None, "user_version", 1000).unwrap();
    drop(connection);
    let before = fs::read(&file).unwrap();
    let run = [
        "run",
        "rms_norm/starter",
        "--device",
        "emulator",
        "--shape",
        "small-one",
    ];
    let output = home.run(&run);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stderr).contains("newer Ridgepoint"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(home.run(&["history"]).status.code(), Some(3));

    // Corrupted: moved aside whole, and a new one begun.
    let home = Home::new();
    let file = home.history_file();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let garbage = vec![0x5a; 8192];
    fs::write(&file, &garbage).unwrap();
    let output = home.run(&run);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stderr).contains("was moved to"),
        "{}",
        text(&output.stderr)
    );
    let aside = fs::read_dir(file.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains(".corrupt-"))
        .unwrap();
    assert_eq!(fs::read(aside).unwrap(), garbage);
    assert!(text(&home.run(&["history"]).stdout).contains("rms_norm"));

    // No place to write: a file stands where the folder should be, which stops the superuser too.
    let home = Home::new();
    fs::write(home.path().join("ridgepoint"), "in the way").unwrap();
    let output = home.run(&run);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("cannot be written"),
        "{}",
        text(&output.stderr)
    );
}

/// A worker by itself, spoken to by hand.
struct RawWorker(Child);

impl RawWorker {
    fn start(home: &Home, device: &str) -> Self {
        let mut command = home.command(&["worker", "--device", device]);
        Self(
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        )
    }

    fn receive(&mut self) -> Value {
        let stdout = self.0.stdout.as_mut().unwrap();
        let mut length = [0; 4];
        stdout.read_exact(&mut length).unwrap();
        let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
        stdout.read_exact(&mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn ends(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if self.0.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for RawWorker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_worker_ends_with_its_orders() {
    let home = Home::new();
    let mut worker = RawWorker::start(&home, "emulator");
    assert_eq!(worker.receive()["type"], "ready");
    drop(worker.0.stdin.take());
    assert!(worker.ends());
}

#[test]
fn a_worker_refuses_garbage_and_ends() {
    let home = Home::new();
    let mut worker = RawWorker::start(&home, "emulator");
    assert_eq!(worker.receive()["type"], "ready");
    worker
        .0
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .unwrap();
    assert!(worker.ends());
}

#[test]
fn a_worker_without_its_device_says_so() {
    let home = Home::new();
    let mut worker = RawWorker::start(&home, "cuda:99");
    let message = worker.receive();
    assert_eq!(
        (&message["type"], &message["verdict"]["class"]),
        (&Value::from("unavailable"), &Value::from("environment"))
    );
    assert!(worker.ends());
}

/// The worker processes of one program, by their parent.
fn children(parent: u32) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else {
            continue;
        };
        if status
            .lines()
            .any(|line| line.split_whitespace().eq(["PPid:", &parent.to_string()]))
        {
            found.extend(entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
        }
    }
    found
}

/// A `run` of the kernel that loops for ever, once the kernel is compiled and its launch begins.
fn hanging_run(home: &Home) -> (Child, i32) {
    let mut command = home.command(&["run", &fixture("hang.ptx"), "--json", "--kernel-limit", "300"]);
    let mut child = command
        .args(SMALL)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let compiled = lines
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line.starts_with("compile"));
    assert!(compiled, "the run ended before its kernel was compiled");
    // Read to the end, so that the program never waits for its reader.
    std::thread::spawn(move || lines.for_each(drop));
    // The launch follows at once; nothing outside can see when the kernel itself begins.
    std::thread::sleep(Duration::from_millis(500));
    let worker = children(child.id())[0];
    (child, worker)
}

fn signal(process: i32, signal: &str) {
    assert!(
        Command::new("kill")
            .args([&format!("-{signal}"), &process.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

fn is_alive(process: i32) -> bool {
    // A zombie is dead: it only waits to be read.
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_killed_worker_becomes_a_verdict() {
    let home = Home::new();
    let (child, worker) = hanging_run(&home);
    signal(worker, "KILL");
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["status"], output.status.code()),
        (&Value::from("crashed"), Some(1)),
        "{report:#}"
    );
    let reason = report["reason"].as_str().unwrap();
    assert!(
        reason.contains("signal 9") && reason.contains("`launch`") && reason.contains("small-one"),
        "{reason}"
    );
    assert!(
        report["evidence"].to_string().contains("not finished: small-one"),
        "{report:#}"
    );
}

#[test]
fn ctrl_c_cancels_and_leaves_no_orphan() {
    let home = Home::new();
    let (child, worker) = hanging_run(&home);
    signal(child.id().cast_signed(), "INT");
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["status"], output.status.code()),
        (&Value::from("cancelled"), Some(1)),
        "{report:#}"
    );
    assert!(!is_alive(worker));
}

#[test]
fn a_killed_front_end_takes_its_worker_along() {
    let home = Home::new();
    let (mut child, worker) = hanging_run(&home);
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while is_alive(worker) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!is_alive(worker), "the worker outlived its front end");
}

#[test]
fn watch_runs_again_when_an_editor_saves_by_renaming() {
    let home = Home::new();
    let path = home.path().join("kernel.ptx");
    let kernel = fs::read_to_string(fixture("writes_nothing.ptx")).unwrap();
    fs::write(&path, &kernel).unwrap();
    let mut command = home.command(&["watch", path.to_str().unwrap()]);
    let mut child = command
        .args(SMALL)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (lines, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stdout.read(&mut buffer) {
            if lines.send(text(&buffer[..count])).is_err() {
                return;
            }
        }
    });
    let wait_for = |word: &str| {
        let mut said = String::new();
        let deadline = Instant::now() + Duration::from_mins(1);
        while !said.contains(word) {
            let left = deadline.saturating_duration_since(Instant::now());
            said.push_str(
                &heard
                    .recv_timeout(left)
                    .unwrap_or_else(|_| panic!("`{word}` did not come: {said}")),
            );
        }
    };
    wait_for("was not written at all");
    let fresh = home.path().join("kernel.ptx.new");
    fs::write(&fresh, fs::read_to_string(fixture("writes_input.ptx")).unwrap()).unwrap();
    fs::rename(&fresh, &path).unwrap();
    wait_for("mutated_input");
    // A second one: the watch must follow the name, not the file that was replaced.
    fs::write(&fresh, fs::read_to_string(fixture("out_of_bounds.ptx")).unwrap()).unwrap();
    fs::rename(&fresh, &path).unwrap();
    wait_for("memory_fault");
    signal(child.id().cast_signed(), "INT");
    assert!(child.wait().unwrap().code().is_some());
}

/// A supervised worker whose program is a shell script, and the reports of the jobs given to it.
fn supervised(home: &Home, script: &str, requests: &[RunRequest]) -> Vec<RunReport> {
    let program = home.path().join("worker.sh");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let options = Options {
        program,
        margin: Duration::from_millis(300),
        ..Options::new("emulator")
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut worker = Worker::start(options);
        for (job, request) in requests.iter().enumerate() {
            let request = Box::new(request.clone());
            worker
                .send(ToWorker::Run {
                    job: job as u64,
                    request,
                })
                .await;
        }
        let mut reports = Vec::new();
        while reports.len() < requests.len() {
            let message = tokio::time::timeout(Duration::from_mins(1), worker.next())
                .await
                .unwrap();
            if let Some(FromWorker::Event {
                event: Event::Finished(report),
                ..
            }) = message
            {
                reports.push(*report);
            }
        }
        reports
    })
}

fn request() -> RunRequest {
    RunRequest {
        kernel_limit_s: 0.1,
        ..RunRequest::new("kernel.ptx")
    }
}

#[test]
fn garbage_from_a_worker_is_a_crash_and_no_more() {
    let reports = supervised(
        &Home::new(),
        "echo 'Segmentation fault, perhaps'; sleep 100",
        &[request(), request()],
    );
    for report in reports {
        assert_eq!(report.status, Class::Crashed);
        assert!(report.reason.contains("not a message"), "{}", report.reason);
        assert!(!report.next.is_empty());
    }
}

#[test]
fn a_silent_worker_is_killed_after_its_limit() {
    let reports = supervised(&Home::new(), "sleep 100", &[request()]);
    assert_eq!(reports[0].status, Class::Timeout);
    assert!(reports[0].reason.contains("did not answer"), "{}", reports[0].reason);
}

#[test]
fn the_last_words_of_a_worker_are_kept() {
    let reports = supervised(
        &Home::new(),
        "head -c 4 >/dev/null; echo 'out of luck' >&2; exit 7",
        &[request()],
    );
    assert_eq!(reports[0].status, Class::Crashed);
    assert!(
        reports[0].reason.contains("exited with status 7"),
        "{}",
        reports[0].reason
    );
    let evidence = serde_json::to_string(&reports[0].evidence).unwrap();
    assert!(evidence.contains("out of luck"), "{evidence}");
}

#[test]
fn a_worker_that_cannot_be_started_is_the_environments_fault() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = Options {
        program: PathBuf::from("/no/such/program"),
        ..Options::new("emulator")
    };
    let report = runtime.block_on(async {
        let mut worker = Worker::start(options);
        let request = Box::new(request());
        worker.send(ToWorker::Run { job: 1, request }).await;
        loop {
            let message = tokio::time::timeout(Duration::from_mins(1), worker.next())
                .await
                .unwrap()
                .unwrap();
            if let FromWorker::Event {
                event: Event::Finished(report),
                ..
            } = message
            {
                break report;
            }
        }
    });
    assert_eq!(report.status, Class::Environment);
    assert!(report.reason.contains("/no/such/program"), "{}", report.reason);
}
