//! Random traces of events under random options: the driver does what the slow twin does, event by event.

use std::fmt::Write;

use clockhand_twins::{PageCacheRules, PageCacheTwin};
use proptest::prelude::*;
use serde_json::Value;

use super::recorder::Trace;
use super::requests::assert_requests;
use crate::pagecache::{
    FirstTouch, Flusher, PageCacheCounts, PageCacheOptions, ReadAhead, ZeroClean,
};

/// One line and how much time has passed since the one before.
type Draw = (u8, u8, u16, u16, u8, u8);

/// Two files and two processes; sizes around those of pages, so that writes cover pages or do not.
fn line(
    (kind, object, offset, size, process, gap): Draw,
    time: &mut u64,
    has_times: bool,
) -> String {
    let mut line = String::new();
    if has_times {
        *time += u64::from(gap % 4);
        // Now and then a time goes back.
        let back = if gap > 250 { 3 } else { 0 };
        write!(line, "@{} ", time.saturating_sub(back)).unwrap();
    }
    let file = format!("f{}", object % 2 + 1);
    let memory = format!("a{}", object % 2 + 1);
    let any = if object % 3 == 0 { &file } else { &memory };
    let page = u64::from(offset % 12) * 4096;
    let odd = page + [0, 100, 4000][usize::from(offset / 12 % 3)];
    let size = [1, 96, 4096, 5000, 8192, 12000, 300, 0][usize::from(size % 8)];
    let text = match kind % 24 {
        0..=3 => format!("mr {any} {odd} {}", size.min(4097)),
        4..=6 => format!("mw {any} {odd} {}", size.min(4097)),
        7..=10 => format!("cr {file} {odd} {size} {}", process % 2),
        11..=14 => format!("cw {file} {odd} {size} {}", process % 2),
        15 => format!("cw {file} {page} 4096"),
        16 => format!("sync {file}"),
        17 => "sync *".to_owned(),
        18 => format!("truncate {file} {odd}"),
        19 => format!("delete {file}"),
        20 => format!("release {memory} {odd} {size}"),
        21 => format!("release {any}"),
        22 => format!("dr {file} {odd} {size}"),
        _ => format!("dw {file} {odd} {size}"),
    };
    line + &text
}

fn text(draws: &[Draw], has_times: bool, has_length: bool) -> String {
    let mut text = String::new();
    let at = if has_times { "@7 " } else { "" };
    if has_length {
        writeln!(text, "{at}length f2 20000").unwrap();
    }
    writeln!(text, "{at}mr f1 0 1\n{at}mr f2 0 1\n{at}mr a2 0 1\n{at}mw a1 4096 1").unwrap();
    let mut time = 7;
    for &draw in draws {
        let line = line(draw, &mut time, has_times);
        writeln!(text, "{line}").unwrap();
    }
    text
}

fn words(actions: &[Value]) -> Vec<String> {
    let word = |action: &Value| {
        let parts = action.as_array().unwrap();
        let mut words = format!("{} {}", parts[0].as_str().unwrap(), parts[1].as_str().unwrap());
        if let Some(is_dirty) = parts.get(2) {
            words += if is_dirty == &Value::Bool(true) { " dirty" } else { " clean" };
        }
        words
    };
    actions.iter().map(word).collect()
}

fn assert_counts(counts: &PageCacheCounts, twin: &PageCacheTwin, flushed_at_end: u64) {
    for (name, value) in [
        ("read_misses", counts.read_misses),
        ("write_misses", counts.write_misses),
        ("anon_read_ios", counts.anon_read_ios),
        ("anon_write_ios", counts.anon_write_ios),
        ("file_read_ios", counts.file_read_ios),
        ("file_write_ios", counts.file_write_ios),
        ("clean_evictions", counts.clean_evictions),
        ("dirty_evictions", counts.dirty_evictions),
        ("zero_fills", counts.zero_fills),
        ("blind_fills", counts.blind_fills),
        ("readahead_ios", counts.readahead_ios),
        ("readahead_unused", counts.readahead_unused),
        ("sync_writes", counts.sync_writes),
        ("flusher_writes", counts.flusher_writes),
        ("early_write_backs", counts.early_write_backs),
        ("dropped_dirty", counts.dropped_dirty),
        ("dropped_clean", counts.dropped_clean),
        ("direct_read_ios", counts.direct_read_ios),
        ("direct_write_ios", counts.direct_write_ios),
        ("dirty_pages_peak", counts.dirty_pages_peak),
        ("dirty_pages_sum", counts.dirty_pages_sum),
        ("dirty_age_max", counts.dirty_age_max),
    ] {
        assert_eq!(value, twin.counts.get(name).copied().unwrap_or(0), "{name}");
    }
    let written = flushed_at_end
        + counts.dirty_evictions
        + counts.sync_writes
        + counts.flusher_writes
        + counts.early_write_backs;
    assert_eq!(counts.write_ios(), written, "each write has one reason");
}

/// Each page that became dirty was written or dropped once, or is dirty at the end.
fn assert_conservation(counts: &PageCacheCounts, became_dirty: u64, dirty_at_end: u64) {
    let gone = counts.write_ios() + counts.dropped_dirty;
    assert_eq!(became_dirty, gone + dirty_at_end, "dirty pages are conserved");
}

/// The policies that the twin knows, with parameters of kernels.
const POLICIES: &[(&str, &[(&str, &str)])] = &[
    ("fifo", &[]),
    ("lru", &[]),
    ("clock", &[]),
    ("cflru", &[]),
    ("min", &[]),
    ("linux24", &[]),
    ("linux24", &[("batch", "3")]),
    ("linux24-cflru", &[]),
    ("linux24-cflru", &[("share", "2/3"), ("batch", "2")]),
    ("linux24-cflru", &[("dynamic", "true"), ("period", "4"), ("batch", "2")]),
    ("linux-lru", &[]),
    ("linux-lru", &[("batch", "3")]),
    ("linux-mglru", &[]),
    ("linux-mglru", &[("batch", "3")]),
];

fn spec(policy: &str, kernel_parameters: &[(&str, &str)], window: usize) -> String {
    if policy == "cflru" {
        return format!("cflru:window_pages={window}");
    }
    let parameters: Vec<_> =
        kernel_parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if parameters.is_empty() {
        policy.to_owned()
    } else {
        format!("{policy}:{}", parameters.join(","))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn the_driver_does_what_the_twin_does(
        draws in prop::collection::vec(any::<Draw>(), 1..90),
        frames in 1_usize..14,
        policy in 0_usize..POLICIES.len(),
        window in 0_usize..8,
        (has_times, has_length, flush_at_end) in any::<(bool, bool, bool)>(),
        (first_touch_reads, zero_clean_reads) in any::<(bool, bool)>(),
        flush in (any::<bool>(), any::<bool>(), 1_u64..9, 0_u64..9, prop::option::of(0_usize..4)),
        (file_ahead, swap_ahead) in (prop::option::of((1_u64..3, 0_u64..6)), prop::option::of(0_u32..4)),
    ) {
        let text = text(&draws, has_times, has_length);
        let (policy, kernel_parameters) = POLICIES[policy];
        let (flushes, by_time, every, age, limit) = flush;
        let by_time = by_time && has_times;
        let unit = if by_time { 's' } else { 'r' };
        let limit_text = limit.map(|limit| format!("{limit}/3"));
        let flusher = flushes.then(|| {
            let (every, age) = (format!("{every}{unit}"), format!("{age}{unit}"));
            Flusher::parse(Some(&every), Some(&age), limit_text.as_deref())
                .unwrap()
                .unwrap()
        });
        let mut parts = Vec::new();
        parts.extend(file_ahead.map(|(first, more)| format!("file:{first}-{}", first + more)));
        parts.extend(swap_ahead.map(|shift| format!("swap:{}", 1 << shift)));
        let read_ahead = if parts.is_empty() { "none".to_owned() } else { parts.join(",") };
        let options = PageCacheOptions {
            first_touch: if first_touch_reads { FirstTouch::Read } else { FirstTouch::Zero },
            zero_clean: if zero_clean_reads { ZeroClean::Read } else { ZeroClean::Drop },
            flusher,
            read_ahead: ReadAhead::parse(&read_ahead).unwrap(),
            flush_at_end,
        };
        let scale = if by_time { 1_000_000_000 } else { 1 };
        let rules = PageCacheRules {
            frames,
            policy,
            kernel_parameters: kernel_parameters.to_vec(),
            window_pages: window,
            first_touch_reads,
            zero_clean_reads,
            flush_every: flushes.then_some(every * scale),
            flush_age: age * scale,
            flush_references: flushes && !by_time,
            dirty_limit: limit.map(|limit| (limit, 3)),
            file_window: file_ahead.map(|(first, more)| (first, first + more)),
            swap_group: swap_ahead.map(|shift| 1 << shift),
            flush_at_end,
        };
        let spec = spec(policy, kernel_parameters, window);
        let ahead_pages = options.read_ahead.file.map_or(0, |file| file.most_pages);
        let (served, counts) = Trace::of(&text, ahead_pages).replay(&spec, frames as u32, options);
        let (happened, twin) = PageCacheTwin::run(&text, rules);
        prop_assert_eq!(served.len(), happened.len(), "{}", text);
        for (event, (served, happened)) in served.iter().zip(&happened).enumerate() {
            prop_assert_eq!(&words(&served.actions), happened, "event {} of\n{}", event, text);
        }
        let dirty_at_end = served.last().unwrap().state["dirty"].as_array().unwrap().len() as u64;
        let flushed_at_end = if flush_at_end { dirty_at_end } else { 0 };
        assert_counts(&counts, &twin, flushed_at_end);
        assert_requests(&counts, &twin, served.last().filter(|_| flush_at_end));
        let became_dirty = twin.counts.get("became_dirty").copied().unwrap_or(0);
        assert_conservation(&counts, became_dirty, dirty_at_end - flushed_at_end);
    }
}
