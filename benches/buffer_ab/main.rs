//! Sends uniform random writes through write buffers to an aged drive with collection, and tells the CPU time of each
//! run and what was counted, as CSV. `../buffer_ab.py` builds it with two versions of buffers and drive; arguments:
//! host pages, pages of a buffer, buffers. The loop is that of the simulator's driver of either version.

use std::convert::Infallible;
use std::ops::ControlFlow;

use clockhand_device::flash::{
    Drive, FtlOptions, Geometry, LogicalPage as FlashPage, Precondition,
};
use clockhand_policy::buffer::catalog::{BUFFERS, BufferSpec, Visitor};
use clockhand_policy::buffer::{
    Action, BufferSize, PagesPerBlock, Request, Source, Step, WriteBuffer,
};
use clockhand_policy::{LogicalPage, Ratio};

const GEOMETRY: Geometry = Geometry::one_pool(8192, 64, 4096);
/// Whole blocks, 15 % of which are spare besides.
const LOGICAL_PAGES: u32 = 455_902 / 64 * 64;

/// As the simulator: see `crates/sim/src/ssd/cell.rs` and `queued_drive.rs`.
#[cfg(batched)]
const AHEAD: usize = 64;
#[cfg(batched)]
const QUEUED_PAGES: usize = 256;

#[derive(Default)]
struct Counts {
    hits: u64,
    batches: u64,
    nvm_writes: u64,
}

struct Run<'a> {
    trace: &'a [u32],
    drive: Drive,
    queue: Vec<FlashPage>,
    counts: Counts,
}

impl Run<'_> {
    fn write(&mut self, page: FlashPage) {
        #[cfg(not(batched))]
        self.drive.write(page).expect("blocks last for ever");
        #[cfg(batched)]
        {
            self.queue.push(page);
            if self.queue.len() == QUEUED_PAGES {
                self.send();
            }
        }
    }

    fn send(&mut self) {
        #[cfg(batched)]
        self.drive.write_all(&self.queue).expect("blocks last for ever");
        self.queue.clear();
    }

    fn carry_out(&mut self, step: Step<'_>) {
        match step.action {
            Action::Drop => {}
            Action::Migrate => self.counts.nvm_writes += step.pages.len() as u64,
            Action::Flush => {
                self.counts.batches += 1;
                for entry in step.pages {
                    let page = FlashPage(entry.page.0 as u32);
                    if entry.source == Source::Flash {
                        self.drive.read(page);
                    }
                    self.write(page);
                }
            }
        }
    }
}

impl Visitor for Run<'_> {
    type Output = Self;

    fn visit<B: WriteBuffer + 'static>(mut self, mut buffer: B) -> Self {
        for (index, &page) in self.trace.iter().enumerate() {
            #[cfg(batched)]
            if index % AHEAD == 0 {
                for &page in self.trace[index..].iter().take(AHEAD) {
                    buffer.look_ahead(LogicalPage(page.into()));
                }
            }
            let _ = index;
            let request = Request::Write(LogicalPage(page.into()));
            while let Some(step) = buffer.next_step(request) {
                self.carry_out(step);
                buffer.commit();
            }
            let served = buffer.serve(request);
            self.counts.hits += u64::from(served.hit.is_some());
            self.counts.nvm_writes += u64::from(served.nvm_writes);
        }
        self.send();
        self
    }
}

fn random_pages(pages: usize) -> Vec<u32> {
    let mut state = 1_u64;
    let mut draw = || {
        // A multiplicative generator modulo 2^64, of which the upper half is used.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (((state >> 32) * u64::from(LOGICAL_PAGES)) >> 32) as u32
    };
    (0..pages).map(|_| draw()).collect()
}

/// CPU nanoseconds of this thread so far.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux tells CPU times");
    text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("the first number")
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse().ok()).expect("a number");
    let (pages, buffer_pages) = (number(), number() as u32);
    let mut named: Vec<String> = arguments.collect();
    if named.is_empty() {
        named = BUFFERS.iter().map(|entry| entry.description.name.to_owned()).collect();
    }
    let trace = random_pages(pages);
    let mut drive = Drive::new(GEOMETRY, FtlOptions::new(LOGICAL_PAGES)).expect("a drive");
    let keep_on = |_| ControlFlow::<Infallible>::Continue(());
    let Ok(_) = drive.precondition(Precondition::Fill, 1, keep_on);
    println!("buffer,cpu_ns,host_writes,flash_programs,erases,hits,batches,nvm_writes");
    for name in named {
        let size = BufferSize {
            pages: buffer_pages,
            pages_per_block: PagesPerBlock::new(64).expect("a power of two"),
            distinct_pages: LOGICAL_PAGES,
            #[cfg(batched)]
            drive_pages: LOGICAL_PAGES.into(),
        };
        let spec = BufferSpec::parse(&name).expect("a buffer");
        let buffer = spec.resolve(size, Ratio::whole(8)).expect("parameters");
        let (drive, queue) = (drive.clone(), Vec::new());
        let begin = cpu_ns();
        let run = buffer.build(Run { trace: &trace, drive, queue, counts: Counts::default() });
        let spent = cpu_ns() - begin;
        let (Counts { hits, batches, nvm_writes }, flash) = (run.counts, run.drive.counters());
        let programs = flash.flash_programs();
        println!(
            "{name},{spent},{},{programs},{},{hits},{batches},{nvm_writes}",
            flash.host_writes, flash.erases
        );
    }
}
