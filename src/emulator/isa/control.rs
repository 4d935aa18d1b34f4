//! Control: `bra`, `brx.idx`, `call`, `ret`, `exit`, `trap`.

use super::{Lower, operands};
use crate::emulator::code::{Action, CallSite, Callee, Class, Place, Stop};
use crate::emulator::fault::FaultKind;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::AnyReg;
use crate::ptx::ast::{Instruction, Operand};

pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let is = |wanted: &[&str]| instruction.modifiers.iter().find(|m| !wanted.contains(&m.as_str()));
    match instruction.opcode.as_str() {
        "bra" => {
            if let Some(other) = is(&["uni"]) {
                return Err(Refusal::modifier(other));
            }
            let [target] = operands(instruction)?;
            let label = cx.label(target)?;
            Ok(Lowered::action(Class::Control, Action::Branch(label)))
        }
        "brx" => {
            if let Some(other) = is(&["idx", "uni"]) {
                return Err(Refusal::modifier(other));
            }
            let [index, list] = operands(instruction)?;
            let targets = cx.targets(list)?;
            Ok(Lowered::action(
                Class::Control,
                Action::BranchIndexed(cx.src32(index)?, targets),
            ))
        }
        "ret" => Ok(Lowered::action(Class::Control, Action::Return)),
        "exit" => Ok(Lowered::action(Class::Control, Action::Exit)),
        "trap" | "brkpt" => {
            let message = format!("the kernel executed `{}`", instruction.opcode);
            Ok(Lowered::run(Class::Control, move |_, mask| {
                let kind = FaultKind::Trap {
                    message: message.clone(),
                };
                Err(Stop::new(kind, mask.trailing_zeros()))
            }))
        }
        "nop" | "pmevent" => Ok(Lowered::run(Class::Control, |_, _| Ok(()))),
        "call" => call(instruction, cx),
        _ => Err(Refusal::opcode()),
    }
}

/// `call (ret), f, (args)`; `call (ret), %rd, (args), prototype`; each list may be absent.
fn call(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let mut rest = instruction.operands.as_slice();
    let mut returns: &[Operand] = &[];
    let mut args: &[Operand] = &[];
    if let [Operand::CallList(list), tail @ ..] = rest {
        returns = list;
        rest = tail;
    }
    let [Operand::Name(callee), tail @ ..] = rest else {
        return Err(Refusal::Invalid("no function to call".to_owned()));
    };
    if let [Operand::CallList(list), ..] = tail {
        args = list;
    }
    if let Some(builtin) = super::builtin::call(cx, callee, returns, args)? {
        return Ok(builtin);
    }
    let site = |cx: &mut Lowering<'_, '_>, callee| -> Result<CallSite, Refusal> {
        let args = args.iter().map(|arg| place(cx, arg)).collect::<Result<_, _>>()?;
        let returns = returns.iter().map(|ret| place(cx, ret)).collect::<Result<_, _>>()?;
        Ok(CallSite { callee, args, returns })
    };
    if let Ok(AnyReg::W64(register)) = cx.register(&Operand::Name(callee.clone())) {
        cx.reach_all();
        let site = site(cx, Callee::Indirect(register))?;
        return Ok(Lowered::action(Class::Control, Action::Call(Box::new(site))));
    }
    let Some(index) = cx.callee(callee) else {
        return Err(Refusal::Unsupported(format!(
            "function `{callee}`, which has no body here"
        )));
    };
    let site = site(cx, Callee::Direct(index))?;
    Ok(Lowered::action(Class::Control, Action::Call(Box::new(site))))
}

/// Where an argument or a result is on the caller's side.
fn place(cx: &mut Lowering<'_, '_>, operand: &Operand) -> Result<Place, Refusal> {
    if let Some(place) = cx.local_place(operand) {
        return Ok(place);
    }
    match cx.register(operand) {
        Ok(AnyReg::W32(register)) => Ok(Place::R32(register)),
        Ok(AnyReg::W64(register)) => Ok(Place::R64(register)),
        Ok(AnyReg::Pred(register)) => Ok(Place::Pred(register)),
        Err(_) => match cx.src32(operand) {
            Ok(register) => Ok(Place::R32(register)),
            Err(_) => cx.src64(operand).map(Place::R64),
        },
    }
}
