//! Calls: frames entered and left, arguments and results copied between them.

use super::run::{Located, Surroundings};
use super::{Caller, Frame, Warp, function_at, next_frame};
use crate::emulator::code::{Action, CallSite, Callee, Place, Stop};
use crate::emulator::exec::Job;
use crate::emulator::fault::FaultKind;
use crate::emulator::regs::LANES;

/// Frames of a call stack: recursion beyond it is a fault.
const DEPTH: usize = 512;

impl Warp {
    /// Enters a function: a new frame, arguments copied into it.
    pub(super) fn call(&mut self, mut index: usize, env: &Surroundings<'_>) -> Result<(), Box<Located>> {
        let functions = &env.job.program.functions;
        let fragment = &self.fragments[index];
        let (pc, whole, frame) = (fragment.pc, fragment.mask, fragment.frame);
        let mut mask = whole;
        let located = |message: String| {
            let stop = Stop::new(FaultKind::Trap { message }, whole.trailing_zeros());
            Err(Box::new(Located { stop, pc, mask: whole }))
        };
        let Action::Call(site) = &env.job.program.ops[pc as usize].action else {
            return Ok(());
        };
        if fragment.stack.len() >= DEPTH {
            return located(format!("calls nested deeper than {DEPTH}"));
        }
        let callee = match site.callee {
            Callee::Direct(callee) => callee,
            Callee::Indirect(reg) => {
                let addresses = self.r64[(frame.r64 + reg.0) as usize];
                let address = addresses[mask.trailing_zeros() as usize];
                let same = (0..LANES)
                    .filter(|&l| addresses[l] == address)
                    .fold(0, |m, lane| m | 1 << lane)
                    & mask;
                if same != mask {
                    // Lanes that call another function stay behind and make their own call afterwards.
                    self.split(index, same, pc);
                    index = self.fragments.len() - 1;
                    mask = same;
                }
                match function_at(functions, address) {
                    Some(callee) => callee,
                    None => return located(format!("call of 0x{address:x}, which is no function")),
                }
            }
        };
        let inner = next_frame(functions, frame, callee);
        let code = &functions[callee as usize];
        if inner.local + code.local > crate::emulator::local::LOCAL_LIMIT {
            return located("the local memory of a thread is exhausted (recursion without end?)".to_owned());
        }
        if !same_kind(site, &code.params, &code.returns) {
            return located(format!(
                "call of `{}` with other arguments or results than it has",
                code.name
            ));
        }
        self.enter(env.job, inner, mask);
        for (&from, &to) in site.args.iter().zip(&code.params) {
            self.copy_place(mask, (frame, from), (inner, to));
        }
        let fragment = &mut self.fragments[index];
        fragment.stack.push(Caller { frame, call: pc });
        fragment.frame = inner;
        fragment.pc = code.start;
        Ok(())
    }

    /// Leaves a function: results copied back. At the bottom of the stack, the lanes exit.
    pub(super) fn ret(&mut self, index: usize, job: &Job<'_>) {
        let mask = self.fragments[index].mask;
        let inner = self.fragments[index].frame;
        let Some(caller) = self.fragments[index].stack.pop() else {
            self.exit(index, mask);
            return;
        };
        if let Action::Call(site) = &job.program.ops[caller.call as usize].action {
            let code = &job.program.functions[inner.function as usize];
            for (&from, &to) in code.returns.iter().zip(&site.returns) {
                self.copy_place(mask, (inner, from), (caller.frame, to));
            }
        }
        let fragment = &mut self.fragments[index];
        fragment.frame = caller.frame;
        fragment.pc = caller.call + 1;
    }

    fn copy_place(&mut self, mask: u32, from: (Frame, Place), to: (Frame, Place)) {
        let lanes = (0..LANES).filter(|lane| mask >> lane & 1 == 1);
        match (from.1, to.1) {
            (
                Place::Local { offset: a, bytes },
                Place::Local {
                    offset: b,
                    bytes: other,
                },
            ) => {
                self.local
                    .copy(mask, from.0.local + a, to.0.local + b, bytes.min(other));
            }
            (Place::R32(a), Place::R32(b)) => {
                let value = self.r32[(from.0.r32 + a.0) as usize];
                lanes.for_each(|lane| self.r32[(to.0.r32 + b.0) as usize][lane] = value[lane]);
            }
            (Place::R64(a), Place::R64(b)) => {
                let value = self.r64[(from.0.r64 + a.0) as usize];
                lanes.for_each(|lane| self.r64[(to.0.r64 + b.0) as usize][lane] = value[lane]);
            }
            (Place::Pred(a), Place::Pred(b)) => {
                let value = self.preds[(from.0.preds + a.0) as usize];
                let slot = &mut self.preds[(to.0.preds + b.0) as usize];
                *slot = (*slot & !mask) | (value & mask);
            }
            // `call` has seen that both sides are of one kind.
            _ => {}
        }
    }
}

/// Whether a call passes as many values, and in the same kinds of place, as the function takes and gives.
fn same_kind(site: &CallSite, params: &[Place], returns: &[Place]) -> bool {
    let same = |a: &Place, b: &Place| std::mem::discriminant(a) == std::mem::discriminant(b);
    site.args.len() == params.len()
        && site.returns.len() == returns.len()
        && site.args.iter().zip(params).all(|(a, b)| same(a, b))
        && site.returns.iter().zip(returns).all(|(a, b)| same(a, b))
}
