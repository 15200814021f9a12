//! The program that the kernel runs at each system call: it stops the thread at the calls that are
//! followed, and lets all others through untouched.

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

use crate::calls::FOLLOWED;
use crate::reported::TELLING;

/// The places of a call's number, its processor and the lower half of an argument.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

#[cfg(target_arch = "x86_64")]
const OWN_PROCESSOR: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const OWN_PROCESSOR: u32 = 0xC000_00B7;

const LOAD: u16 = (BPF_LD | BPF_W | BPF_ABS) as u16;
const IF_EQUAL: u16 = (BPF_JMP | BPF_JEQ | BPF_K) as u16;
const IF_ANY_BIT: u16 = (BPF_JMP | BPF_JSET | BPF_K) as u16;
const RETURN: u16 = (BPF_RET | BPF_K) as u16;

/// The commands of `fcntl` that matter: they make descriptors and set flags.
const CONTROLS: [i32; 4] = [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_SETFD, libc::F_SETFL];

/// The commands of `ioctl` that matter.
const CLOSINGS: [u32; 2] = [libc::FIOCLEX as u32, libc::FIONCLEX as u32];

/// Calls that read or set the processors of a thread. Nothing is written about them.
const ON_PROCESSORS: [i64; 2] = [libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity];

fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// The instructions for a program that tells of its calls.
pub(crate) fn telling_program() -> Vec<sock_filter> {
    vec![
        statement(LOAD, NUMBER),
        jump(IF_EQUAL, TELLING as u32, 0, 1),
        statement(RETURN, libc::SECCOMP_RET_TRACE),
        statement(RETURN, libc::SECCOMP_RET_ALLOW),
    ]
}

/// The instructions.
pub(crate) fn program() -> Vec<sock_filter> {
    let (stop, pass) =
        (statement(RETURN, libc::SECCOMP_RET_TRACE), statement(RETURN, libc::SECCOMP_RET_ALLOW));
    let mut program = vec![
        statement(LOAD, PROCESSOR),
        // Calls of 32-bit programs have other numbers; they are not followed.
        jump(IF_EQUAL, OWN_PROCESSOR, 1, 0),
        pass,
        statement(LOAD, NUMBER),
    ];
    for call in FOLLOWED {
        let number = call.number as u32;
        match call.number {
            libc::SYS_mmap => program.extend([
                jump(IF_EQUAL, number, 0, 4),
                statement(LOAD, argument(3)),
                jump(IF_ANY_BIT, libc::MAP_ANONYMOUS as u32, 1, 0),
                stop,
                pass,
            ]),
            libc::SYS_fcntl => stop_at(&mut program, number, &CONTROLS.map(|one| one as u32)),
            libc::SYS_ioctl => stop_at(&mut program, number, &CLOSINGS),
            _ => program.extend([jump(IF_EQUAL, number, 0, 1), stop]),
        }
    }
    for number in ON_PROCESSORS {
        program.extend([jump(IF_EQUAL, number as u32, 0, 1), stop]);
    }
    program.push(pass);
    program
}

/// Stops at a call whose second argument is one of `stopping`.
fn stop_at(program: &mut Vec<sock_filter>, number: u32, stopping: &[u32]) {
    let count = stopping.len() as u8;
    program.push(jump(IF_EQUAL, number, 0, count + 3));
    program.push(statement(LOAD, argument(1)));
    let tests = stopping.iter().zip(0..);
    program.extend(tests.map(|(&one, place)| jump(IF_EQUAL, one, count - place, 0)));
    program.push(statement(RETURN, libc::SECCOMP_RET_ALLOW));
    program.push(statement(RETURN, libc::SECCOMP_RET_TRACE));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The filter's verdict on a call with these first arguments.
    fn verdict(processor: u32, number: i64, arguments: [u32; 4]) -> u32 {
        let program = program();
        let (mut place, mut held) = (0, 0);
        loop {
            let step = program[place];
            place += 1;
            match step.code {
                LOAD if step.k == NUMBER => held = number as u32,
                LOAD if step.k == PROCESSOR => held = processor,
                LOAD => held = arguments[(step.k as usize - 16) / 8],
                RETURN => return step.k,
                code => {
                    let holds = match code {
                        IF_EQUAL => held == step.k,
                        IF_ANY_BIT => held & step.k != 0,
                        other => panic!("instruction {other}"),
                    };
                    place += usize::from(if holds { step.jt } else { step.jf });
                }
            }
        }
    }

    #[test]
    fn it_stops_at_the_calls_that_are_followed_and_at_no_others() {
        let (stop, pass) = (libc::SECCOMP_RET_TRACE, libc::SECCOMP_RET_ALLOW);
        for call in FOLLOWED {
            let command = if call.number == libc::SYS_ioctl { CLOSINGS[1] } else { 0 };
            let arguments = [3, command, 0, 0];
            assert_eq!(verdict(OWN_PROCESSOR, call.number, arguments), stop, "{}", call.name);
            assert_eq!(verdict(0x4000_0003, call.number, [0; 4]), pass, "of another processor");
        }
        for number in ON_PROCESSORS {
            assert_eq!(verdict(OWN_PROCESSOR, number, [0; 4]), stop);
        }
        for number in [libc::SYS_getpid, libc::SYS_futex, libc::SYS_fstat, libc::SYS_brk] {
            assert_eq!(verdict(OWN_PROCESSOR, number, [0; 4]), pass);
        }
        let terminal = libc::TCGETS as u32;
        assert_eq!(verdict(OWN_PROCESSOR, libc::SYS_ioctl, [0, terminal, 0, 0]), pass);
        let anonymous = libc::MAP_ANONYMOUS as u32 | libc::MAP_PRIVATE as u32;
        assert_eq!(verdict(OWN_PROCESSOR, libc::SYS_mmap, [0, 0, 0, anonymous]), pass);
        for (control, expected) in
            [(libc::F_DUPFD, stop), (libc::F_SETFL, stop), (libc::F_GETFD, pass)]
        {
            assert_eq!(
                verdict(OWN_PROCESSOR, libc::SYS_fcntl, [0, control as u32, 0, 0]),
                expected
            );
        }
    }
}
