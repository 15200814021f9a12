//! Write amplification, measured and exact, by the full recipe: one pool of 8192 blocks of 64 pages, filled once in order, then
//! overwritten uniformly at random; the amplification of overwrites 1.5 million to 2.5 million. Prints Markdown.

use std::time::Instant;

use clockhand_device::flash::{
    Drive, FtlOptions, Geometry, LogicalPage, VictimRule, hot_cold_fifo_write_amplification,
    uniform_random_write_amplification,
};

const GEOMETRY: Geometry = Geometry::one_pool(8192, 64, 4096);
const OVERWRITES: u64 = 2_500_000;
const COUNTED_FROM: u64 = 1_500_000;

fn main() {
    println!("| over-provisioning | victim | measured | exact | difference |");
    println!("|---|---|---|---|---|");
    let start = Instant::now();
    let mut host_writes = 0;
    let rules = ["fifo", "greedy", "d-choices:10", "d-choices:2", "random"];
    for (name, alpha) in ALPHAS {
        for rule in rules.map(|rule| rule.parse::<VictimRule>().expect("a rule")) {
            let measured = measure(alpha, rule, |random, pages| random.below(pages));
            let exact = uniform_random_write_amplification(rule, alpha, 64).expect("it is known");
            print_row(name, &rule.to_string(), measured, exact);
            host_writes += OVERWRITES;
        }
    }
    for (name, alpha) in ALPHAS {
        let measured = measure(alpha, VictimRule::Fifo, hot_or_cold);
        let exact = hot_cold_fifo_write_amplification(alpha, 0.2, 0.8);
        print_row(name, "fifo, 80 % of writes to 20 % of pages", measured, exact);
        host_writes += OVERWRITES;
    }
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{host_writes} overwrites in {seconds:.1} s, fills and drawing included");
}

/// Over-provisioning as the literature says it, spare / logical, and physical pages per logical page.
const ALPHAS: [(&str, f64); 5] = [
    ("7 %", 1.07),
    ("10 %", 1.10),
    ("15 %", 1.15),
    ("17.65 % (15 % of raw)", 1.0 / 0.85),
    ("28 %", 1.28),
];

fn print_row(over_provisioning: &str, rule: &str, measured: f64, exact: f64) {
    let difference = 100.0 * (measured / exact - 1.0);
    println!("| {over_provisioning} | {rule} | {measured:.3} | {exact:.3} | {difference:+.2} % |");
}

fn measure(alpha: f64, victim: VictimRule, next: fn(&mut Random, u32) -> u32) -> f64 {
    let logical_pages = (GEOMETRY.raw_pages() as f64 / alpha) as u32;
    let options = FtlOptions { victim, seed: 1, ..FtlOptions::new(logical_pages) };
    let mut drive = Drive::new(GEOMETRY, options).expect("there is over-provisioning");
    let write = |drive: &mut Drive, page| {
        drive.write(LogicalPage(page)).expect("blocks last for ever");
    };
    (0..logical_pages).for_each(|page| write(&mut drive, page));
    let mut random = Random(1);
    let mut overwrite = |drive: &mut Drive, count| {
        (0..count).for_each(|_| write(drive, next(&mut random, logical_pages)));
    };
    overwrite(&mut drive, COUNTED_FROM);
    let before = drive.counters();
    overwrite(&mut drive, OVERWRITES - COUNTED_FROM);
    drive.counters().since(&before).write_amplification().expect("pages were written")
}

fn hot_or_cold(random: &mut Random, pages: u32) -> u32 {
    let hot_pages = pages / 5;
    if random.below(5) < 4 {
        random.below(hot_pages)
    } else {
        hot_pages + random.below(pages - hot_pages)
    }
}

/// Marsaglia's xorshift64*: another generator than the drive's own, so that the workload shares nothing with it.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        (((mixed >> 32) * u64::from(bound)) >> 32) as u32
    }
}
