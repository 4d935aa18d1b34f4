//! One shape of a run: plan, memory, launch, verify, time; its buffers are freed whatever happens.

use super::bench::Bench;
use super::build::{Built, Loaded};
use super::event::{Event, Stage, StageState};
use super::inputs::{Case, cases};
use super::memory::Needs;
use super::reference::{Reference, answer_needs};
use super::report::{ShapeReport, VerifyReport};
use super::verify::{Subject, judge, keep_worst, repeat};
use super::workspace::{Workspace, needs_of};
use super::{RunRequest, Sink, build, floor, timing};
use crate::kernel::plan::Plan;
use crate::shape::Shape;
use crate::verdict::advice::{Context, advise};
use crate::verdict::{Class, Outcome, Verdict};

/// What one shape's run is made of.
pub(super) struct ShapeJob<'a> {
    pub request: &'a RunRequest,
    pub loaded: &'a Loaded,
    pub built: &'a Built,
    pub shape: &'a Shape,
}

impl ShapeJob<'_> {
    fn tell(&self, sink: &mut Sink<'_>, stage: Stage, state: StageState, detail: impl Into<String>) {
        sink(Event::Stage {
            shape: Some(self.shape.id.clone()),
            stage,
            state,
            detail: detail.into(),
        });
    }

    fn progress(&self, sink: &mut Sink<'_>, stage: Stage, done: f64) {
        sink(Event::Progress {
            shape: Some(self.shape.id.clone()),
            stage,
            done,
        });
    }
}

/// Runs one shape. Failures are in the report.
pub(super) fn run_shape(job: &ShapeJob<'_>, bench: &mut Bench<'_>, sink: &mut Sink<'_>) -> ShapeReport {
    let mut report = ShapeReport {
        id: job.shape.id.clone(),
        params: job.shape.params.clone(),
        status: Class::Passed,
        reason: String::new(),
        evidence: Vec::new(),
        next: Vec::new(),
        compile_ms: job.built.report.milliseconds,
        verify: None,
        timing: None,
        roofline: floor::roofline(&job.loaded.operator, job.shape, &bench.device.info().profile),
        counters: None,
    };
    let mut at = Stage::Launch;
    let result = with_buffers(job, bench, sink, &mut report, &mut at);
    let output = bench.device.take_output();
    if !output.is_empty() {
        sink(Event::Log { text: output });
    }
    match result {
        Ok(()) => report.reason = passed_reason(&report),
        Err(mut verdict) => {
            job.tell(sink, at, StageState::Failed, verdict.reason.clone());
            advise(
                &mut verdict,
                Context {
                    emulated: !bench.device.can_time(),
                },
            );
            report.status = verdict.class;
            report.reason = verdict.reason;
            report.evidence = verdict.evidence;
            report.next = verdict.next;
        }
    }
    report
}

fn passed_reason(report: &ShapeReport) -> String {
    match (&report.verify, &report.timing) {
        (_, Some(timing)) => format!("right answers, {:.2} us", timing.median_us),
        (Some(verify), None) => {
            // Every seed of the first distribution, one of each other.
            let sets = verify.seeds as usize + verify.distributions.len().saturating_sub(1);
            format!(
                "right answers for {sets} set{} of inputs",
                if sets == 1 { "" } else { "s" }
            )
        }
        (None, None) => "right answers".to_owned(),
    }
}

fn with_buffers(
    job: &ShapeJob<'_>,
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
    report: &mut ShapeReport,
    at: &mut Stage,
) -> Outcome<()> {
    let operator = &*job.loaded.operator;
    job.tell(sink, Stage::Launch, StageState::Running, "");
    bench.cancel.check()?;
    let plan = job.loaded.plan(job.shape, bench.device.info())?;
    let reference = build::reference(operator, job.shape, bench)?;
    let tensors = operator.tensors_of(job.shape).map_err(|reason| {
        Box::new(Verdict::new(
            Class::Environment,
            format!("problem `{}`: {reason}", operator.name),
        ))
    })?;
    let mut needs = Needs::default();
    needs_of(&tensors, &plan, &mut needs);
    answer_needs(&tensors, &reference.plan, &mut needs);
    bench.warm.make_room(bench.device, needs.total())?;
    needs.check(bench.device.free_memory()?)?;
    let mut workspace = Workspace::allocate(bench.device, tensors, &plan)?;
    let result = judged(job, bench, sink, report, at, &plan, &reference, &workspace);
    workspace.free(bench.device);
    result
}

#[expect(
    clippy::too_many_arguments,
    reason = "the parts of one shape's run, each owned elsewhere"
)]
fn judged(
    job: &ShapeJob<'_>,
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
    report: &mut ShapeReport,
    at: &mut Stage,
    plan: &Plan,
    reference: &Reference,
    workspace: &Workspace,
) -> Outcome<()> {
    let request = job.request;
    let subject = Subject {
        operator: &job.loaded.operator,
        shape: job.shape,
        plan,
        module: job.built.module(),
        reference,
        workspace,
    };
    let all = cases(subject.operator, request.seed, request.seeds, &request.distributions)?;
    verify(job, bench, sink, report, at, &subject, &all)?;
    if request.verify_only {
        job.tell(sink, Stage::Time, StageState::Skipped, "not asked for");
    } else if bench.device.can_time() {
        time(job, bench, sink, report, at, &subject, &all)?;
    } else {
        job.tell(
            sink,
            Stage::Time,
            StageState::Skipped,
            "times are not measured on the emulator",
        );
    }
    Ok(())
}

fn verify(
    job: &ShapeJob<'_>,
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
    report: &mut ShapeReport,
    at: &mut Stage,
    subject: &Subject<'_>,
    cases: &[Case],
) -> Outcome<()> {
    let mut verified = VerifyReport::default();
    let result = verify_cases(job, bench, sink, report, at, subject, cases, &mut verified);
    let held = !verified.outputs.is_empty();
    report.verify = held.then_some(verified);
    result?;
    let share = report.verify.as_ref().map_or(0, |verify| verify.seeds);
    job.tell(
        sink,
        Stage::Verify,
        StageState::Passed,
        format!("{} of {} cases, {share} seeds", cases.len(), cases.len()),
    );
    Ok(())
}

#[expect(
    clippy::too_many_arguments,
    reason = "the parts of one shape's run, each owned elsewhere"
)]
fn verify_cases(
    job: &ShapeJob<'_>,
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
    report: &mut ShapeReport,
    at: &mut Stage,
    subject: &Subject<'_>,
    cases: &[Case],
    verified: &mut VerifyReport,
) -> Outcome<()> {
    for (index, case) in cases.iter().enumerate() {
        // Another poison for every case, so that an answer equal to the poison is not missed twice.
        let round = index as u64;
        let want = subject.prepare(bench, case)?;
        let sums = subject.input_sums(bench.device)?;
        job.progress(sink, *at, index as f64 / cases.len() as f64);
        // Counters of the generators and the reference are not the kernel's.
        let _ = bench.device.take_counters();
        subject.execute(bench, case, round)?;
        if index == 0 {
            report.counters = bench.device.take_counters();
            job.tell(sink, Stage::Launch, StageState::Passed, launch_detail(subject.plan));
            *at = Stage::Verify;
            job.tell(sink, Stage::Verify, StageState::Running, "");
        }
        subject.check_guards(bench.device)?;
        subject.check_inputs(bench.device, &sums)?;
        let outputs = subject.compare(bench.device, &want, case, round)?;
        let judgement = judge(&outputs);
        keep_worst(&mut verified.outputs, outputs);
        note_case(verified, case);
        judgement?;
        if index == 0 {
            let first = subject.output_sums(bench.device)?;
            repeat(bench, subject, case, &first)?;
            verified.repeats = 2;
        }
        job.progress(sink, *at, (index + 1) as f64 / cases.len() as f64);
    }
    Ok(())
}

fn note_case(verified: &mut VerifyReport, case: &Case) {
    if !verified.distributions.contains(&case.distribution) {
        verified.distributions.push(case.distribution.clone());
    }
    if verified.distributions.len() == 1 {
        verified.seeds += 1;
    }
}

/// `24752 x 256`, or the number of launches.
fn launch_detail(plan: &Plan) -> String {
    let threads = |dims: [u32; 3]| dims.iter().map(|size| u64::from(*size)).product::<u64>();
    match plan.launches.as_slice() {
        [one] => format!("{} x {} threads", threads(one.grid), threads(one.block)),
        many => format!("{} launches", many.len()),
    }
}

fn time(
    job: &ShapeJob<'_>,
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
    report: &mut ShapeReport,
    at: &mut Stage,
    subject: &Subject<'_>,
    cases: &[Case],
) -> Outcome<()> {
    *at = Stage::Time;
    job.tell(sink, Stage::Time, StageState::Running, "");
    let (timing, checked) = timing::measure(bench, subject, cases, job.request, sink)?;
    if let Some(verify) = &mut report.verify {
        verify.checked_after_timing = true;
        keep_worst(&mut verify.outputs, checked);
        if subject.workspace.in_place() {
            verify.skipped.push(
                "the output of the timed launches themselves: tensors changed in place have no right answer after many launches; one more launch from fresh inputs was compared".to_owned(),
            );
        }
    }
    let detail = format!("{:.2} us, {} samples", timing.median_us, timing.samples);
    if let Some(roofline) = &mut report.roofline {
        roofline.fraction = Some(roofline.t_sol_us / timing.median_us);
    }
    let bound = floor::hard_bound(subject.operator, subject.shape, bench.device.info(), job.request.cold);
    let honest = timing::check_floor(&timing, bound.as_ref());
    report.timing = Some(timing);
    honest?;
    job.tell(sink, Stage::Time, StageState::Passed, detail);
    Ok(())
}

/// Both jobs of a comparison on one shape, with their buffers and the same inputs, given to `work`.
pub(super) fn with_two<T>(
    jobs: &[ShapeJob<'_>; 2],
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
    work: impl FnOnce(&[Subject<'_>; 2], &mut Bench<'_>, &mut Sink<'_>) -> Outcome<T>,
) -> Outcome<T> {
    let operator = &*jobs[0].loaded.operator;
    let shape = jobs[0].shape;
    let reference = build::reference(operator, shape, bench)?;
    let info = bench.device.info().clone();
    let plans = [jobs[0].loaded.plan(shape, &info)?, jobs[1].loaded.plan(shape, &info)?];
    let tensors = operator.tensors_of(shape).map_err(|reason| {
        Box::new(Verdict::new(
            Class::Environment,
            format!("problem `{}`: {reason}", operator.name),
        ))
    })?;
    let mut needs = Needs::default();
    for plan in &plans {
        needs_of(&tensors, plan, &mut needs);
    }
    bench.warm.make_room(bench.device, needs.total())?;
    needs.check(bench.device.free_memory()?)?;
    let mut first = Workspace::allocate(bench.device, tensors.clone(), &plans[0])?;
    let mut second = match Workspace::allocate(bench.device, tensors, &plans[1]) {
        Ok(second) => second,
        Err(verdict) => {
            first.free(bench.device);
            return Err(verdict);
        }
    };
    let subject = |index: usize, workspace| Subject {
        operator,
        shape,
        plan: &plans[index],
        module: jobs[index].built.module(),
        reference: &reference,
        workspace,
    };
    let subjects = [subject(0, &first), subject(1, &second)];
    let result = set_both(jobs, bench, &subjects).and_then(|()| work(&subjects, bench, sink));
    first.free(bench.device);
    second.free(bench.device);
    result
}

fn set_both(jobs: &[ShapeJob<'_>; 2], bench: &mut Bench<'_>, subjects: &[Subject<'_>; 2]) -> Outcome<()> {
    let case = Case {
        seed: jobs[0].request.seed,
        distribution: crate::problem::PUBLISHED.to_owned(),
    };
    subjects
        .iter()
        .try_for_each(|subject| timing::set_stage(bench, subject, &case))
}
