//! One level of a TLB.

use std::collections::BTreeMap;

use super::TlbKey;
use crate::split_mix::SplitMix;

/// One level of a TLB: per set, per way, the key with the times of insertion and last use.
#[derive(Clone, Debug)]
pub struct TlbTwin {
    sets: Vec<Vec<Option<Entry>>>,
    /// By set and half-open range of ways: whether the upper half is the next victim's.
    trees: BTreeMap<(usize, usize, usize), bool>,
    replacement: &'static str,
    numbers: SplitMix,
    time: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    key: TlbKey,
    inserted: u64,
    used: u64,
}

impl TlbTwin {
    /// An empty level of `entries` in sets of `ways`.
    pub fn new((entries, ways): (usize, usize), replacement: &'static str, seed: u64) -> TlbTwin {
        let sets = if entries == 0 { 0 } else { entries / ways };
        TlbTwin {
            sets: vec![vec![None; ways]; sets],
            trees: BTreeMap::new(),
            replacement,
            numbers: SplitMix::new(seed),
            time: 0,
        }
    }

    /// Looks a key up and uses it.
    pub fn look_up(&mut self, key: TlbKey) -> bool {
        self.time += 1;
        for set in 0..self.sets.len() {
            for way in 0..self.sets[set].len() {
                if let Some(entry) = &mut self.sets[set][way]
                    && entry.key == key
                {
                    entry.used = self.time;
                    self.point_away(set, way);
                    return true;
                }
            }
        }
        false
    }

    /// Inserts a key that is not there.
    pub fn insert(&mut self, key: TlbKey) {
        if self.sets.is_empty() {
            return;
        }
        self.time += 1;
        let set = (key.2 % self.sets.len() as u64) as usize;
        let free = self.sets[set].iter().position(Option::is_none);
        let way = free.unwrap_or_else(|| self.victim(set));
        self.sets[set][way] = Some(Entry { key, inserted: self.time, used: self.time });
        self.point_away(set, way);
    }

    fn victim(&mut self, set: usize) -> usize {
        let ways = self.sets[set].len();
        let oldest = |time: fn(&Entry) -> u64| {
            let times = self.sets[set].iter().map(|entry| entry.as_ref().map(time));
            let (way, _) = times.enumerate().min_by_key(|(_, time)| *time).expect("a set has ways");
            way
        };
        match self.replacement {
            "lru" => oldest(|entry| entry.used),
            "fifo" => oldest(|entry| entry.inserted),
            "random" => (self.numbers.draw() % ways as u64) as usize,
            "plru" => {
                let (mut low, mut high) = (0, ways);
                while high - low > 1 {
                    let middle = (low + high) / 2;
                    let upper = self.trees.get(&(set, low, high)).copied().unwrap_or(false);
                    (low, high) = if upper { (middle, high) } else { (low, middle) };
                }
                low
            }
            other => panic!("there is no replacement `{other}`"),
        }
    }

    fn point_away(&mut self, set: usize, way: usize) {
        if self.replacement != "plru" {
            return;
        }
        let (mut low, mut high) = (0, self.sets[set].len());
        while high - low > 1 {
            let middle = (low + high) / 2;
            let is_lower = way < middle;
            self.trees.insert((set, low, high), is_lower);
            (low, high) = if is_lower { (low, middle) } else { (middle, high) };
        }
    }

    /// Frees the ways of all keys that are gone.
    pub fn invalidate(&mut self, is_gone: impl Fn(TlbKey) -> bool) {
        for way in self.sets.iter_mut().flatten() {
            if way.as_ref().is_some_and(|entry| is_gone(entry.key)) {
                *way = None;
            }
        }
    }

    /// The keys by set and way.
    pub fn keys(&self) -> Vec<Vec<Option<TlbKey>>> {
        let of_set = |set: &Vec<Option<Entry>>| {
            set.iter().map(|way| way.as_ref().map(|entry| entry.key)).collect()
        };
        self.sets.iter().map(of_set).collect()
    }
}
