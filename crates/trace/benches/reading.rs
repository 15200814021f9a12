//! Requests per second of each reader, and references per second of the page view.

use std::hint::black_box;
use std::io::Write;
use std::path::Path;

use clockhand_trace::{
    Folding, Op, OpenOptions, OptionalColumns, PageViewBuilder, ParquetWriter, Reader, Request,
    TraceReader,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const REQUESTS: u64 = 1_000_000;

/// References that stay near the last one, with a jump now and then: one in four is a write.
fn requests() -> Vec<Request> {
    let mut state = 1_u64;
    let mut address = 0x0040_0000;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let requests = (0..REQUESTS).map(|_| {
        address = if next() % 2 == 0 { 0x0040_0000 + (next() % (16 << 20)) } else { address + 32 };
        Request::new(if next() % 4 == 0 { Op::Write } else { Op::Read }, address, 8)
    });
    requests.collect()
}

fn letter(request: &Request) -> char {
    if request.op == Op::Write { 'W' } else { 'R' }
}

fn write_text(path: &Path, header: &str, requests: &[Request], line: impl Fn(&Request) -> String) {
    let mut text = header.to_owned();
    requests.iter().for_each(|request| text.push_str(&line(request)));
    std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

type WriteLine = fn(&Request) -> String;

/// How formats of block traces write a request.
const BLOCK_LINES: [(&str, WriteLine); 8] = [
    ("alibaba", |request| {
        format!("419,{},{},4096,1577808000000046\n", letter(request), request.address)
    }),
    ("blkparse", |request| {
        let sector = request.address / 512;
        format!(
            "  8,0    3     6402     1.223490352   697  Q  {}S {sector} + 8 [kjournald]\n",
            letter(request)
        )
    }),
    ("disksim", |request| {
        let flags = u8::from(request.op == Op::Read);
        format!("12.754000 5 {} 16 {flags}\n", request.address / 512)
    }),
    ("fiu", |request| {
        let (sector, op) = (request.address / 512, letter(request));
        format!("89968195792462 20782 gzip {sector} 8 {op} 6 0 56f11b711d91a065a2b6458eca924523\n")
    }),
    ("heimdall-replay", |request| {
        let op = u8::from(request.op == Op::Read);
        format!("59.973,110,{op},4096,{},60.031,4096\n", request.address)
    }),
    ("msr", |request| {
        let op = if request.op == Op::Write { "Write" } else { "Read" };
        format!("128166372003061629,hm,0,{op},{},32768,1331\n", request.address)
    }),
    ("spc", |request| {
        format!("0,{},3584,{},26214.000000\n", request.address / 512, letter(request))
    }),
    ("tencent", |request| {
        let op = u8::from(request.op == Op::Write);
        format!("1538323200,{},128,{op},1063\n", request.address / 512)
    }),
];

fn read_all(path: &Path) -> u64 {
    // Files are named after their formats, which some of them need to be read at all.
    let format = path.file_name().unwrap().to_str().map(str::to_owned);
    let options = OpenOptions { format, ..OpenOptions::default() };
    let mut reader = TraceReader::open(path, &options).unwrap();
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).unwrap() {
        black_box(&batch);
    }
    reader.report().requests
}

fn readers(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let requests = requests();
    let path = |name: &str| folder.path().join(name);
    write_text(&path("os-course"), "", &requests, |request| {
        format!("{:08x} {}\n", request.address, letter(request))
    });
    write_text(&path("lackey"), "", &requests, |request| {
        format!(" {} {:08x},8\n", if request.op == Op::Write { 'S' } else { 'L' }, request.address)
    });
    write_text(&path("csv"), "op,address,size\n", &requests, |request| {
        format!("{},{},8\n", letter(request), request.address)
    });
    for (name, line) in BLOCK_LINES {
        write_text(&path(name), "", &requests, line);
    }
    let mut writer =
        ParquetWriter::create(path("parquet"), &[], OptionalColumns::default()).unwrap();
    requests.chunks(10_000).for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();

    let mut group = criterion.benchmark_group("read");
    group.sample_size(10).throughput(Throughput::Elements(REQUESTS));
    let names = ["os-course", "lackey", "csv", "parquet"];
    for name in names.into_iter().chain(BLOCK_LINES.map(|(name, _)| name)) {
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(read_all(&path(name)), REQUESTS))
        });
    }
    group.finish();
}

/// References to pages anywhere among a million, with `pages_apart - 1` unused ones between any two.
fn scattered(pages_apart: u64) -> Vec<Request> {
    let mut state = 1_u64;
    let request = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let op = if state >> 62 == 0 { Op::Write } else { Op::Read };
        Request::new(op, (state >> 33) % 1_000_000 * pages_apart * 4096, 8)
    };
    (0..REQUESTS).map(request).collect()
}

fn page_view(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("page view");
    group.sample_size(10).throughput(Throughput::Elements(REQUESTS));
    for (name, folding, requests) in [
        ("runs", Folding::Runs, requests()),
        ("unfolded", Folding::None, requests()),
        ("scattered pages", Folding::Runs, scattered(1)),
        ("scattered pages far apart", Folding::Runs, scattered(1 << 20)),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut builder = PageViewBuilder::new(4096, folding).unwrap();
                builder.extend(black_box(&requests));
                builder.finish().unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, readers, page_view);
criterion_main!(benches);
