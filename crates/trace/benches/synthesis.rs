//! Requests per second that each synthetic pattern makes, and what a file of them costs.

use clockhand_trace::{OptionalColumns, Overrides, ParquetWriter, Reader, Recipe, SyntheticReader};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const REQUESTS: u64 = 1_000_000;

const RECIPES: [(&str, &str); 6] = [
    ("uniform", "uniform:footprint=4GiB,reads=70%"),
    ("zipf, skew 1", "zipf:skew=1,footprint=4GiB,reads=70%"),
    ("zipf, skew 0.9", "zipf:skew=0.9,footprint=4GiB,reads=70%"),
    ("hot-cold", "hot-cold:hot=20%,hot_requests=80%,footprint=4GiB,reads=70%"),
    ("sequential", "sequential:footprint=4GiB,reads=70%"),
    (
        "mix",
        "zipf:skew=0.9,footprint=4GiB,reads=70%,weight=3 + loop:footprint=64MiB,size=4KiB:70,64KiB:30",
    ),
];

fn recipe(text: &str) -> Recipe {
    let requests = REQUESTS.to_string();
    let overrides = Overrides { requests: Some(&requests), seed: Some("42"), arrivals: None };
    Recipe::open(text, &overrides).unwrap()
}

/// Makes all requests and hands each batch to `take`.
fn make(recipe: &Recipe, mut take: impl FnMut(&[clockhand_trace::Request])) {
    let mut reader = SyntheticReader::new(recipe);
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch).unwrap() {
        take(std::hint::black_box(&batch));
    }
    assert_eq!(reader.report().requests, REQUESTS);
}

fn synthesis(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("synthesize");
    group.sample_size(10).throughput(Throughput::Elements(REQUESTS));
    for (name, text) in RECIPES {
        let recipe = recipe(text);
        group.bench_function(name, |bencher| bencher.iter(|| make(&recipe, |_| ())));
    }
    let folder = tempfile::tempdir().unwrap();
    let recipe = recipe(RECIPES[2].1);
    group.bench_function("zipf, skew 0.9, to Parquet", |bencher| {
        bencher.iter(|| {
            let path = folder.path().join("made.parquet");
            let mut writer =
                ParquetWriter::create(path, &recipe.labels(), OptionalColumns::default()).unwrap();
            make(&recipe, |batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        });
    });
    group.finish();
}

criterion_group!(benches, synthesis);
criterion_main!(benches);
