//! The least time of accesses and migrations that any schedule of the fast tier's frames can reach: a flow of least cost.
//!
//! Each frame is a unit of flow through the times 0 … n. A unit is idle from one time to the next, or takes the page of a
//! reference just before it, serves it, keeps the page until its next reference or the end, or leaves just after it.
//!
//! Units are sent along cheapest ways, all at once where several have the same length (the primal-dual method), until another
//! one would gain nothing. With potentials all lengths are non-negative, so that each round is one search by Dijkstra.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use clockhand_policy::Op;
use clockhand_trace::Record;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

use super::price::TierPrices;
use crate::error::SimError;
use crate::next_use::NEVER;
use crate::replay::first_op;
use clockhand_trace::progress::Progress;

/// More references than these are refused: the search takes minutes.
pub(crate) const MOST_REFERENCES: usize = 100_000;

/// An edge of the network, and what is left of it in both directions.
#[derive(Clone, Copy)]
struct Edge {
    to: u32,
    left: u32,
    cost: i64,
}

/// A network whose edges come in pairs: an edge at an even place, and its reverse behind it.
struct Network {
    edges: Vec<Edge>,
    /// The edges of each node are `of_node[starts[node]..starts[node + 1]]`.
    starts: Vec<u32>,
    of_node: Vec<u32>,
    potentials: Vec<i64>,
}

/// An edge before the network is made: from, to, capacity, cost.
type Draft = (u32, u32, u32, i64);

impl Network {
    /// The nodes of `drafts` are numbered so that no edge leads to a smaller number.
    fn new(nodes: u32, drafts: &[Draft]) -> Self {
        let mut starts = vec![0; nodes as usize + 1];
        for &(from, to, ..) in drafts {
            starts[from as usize + 1] += 1;
            starts[to as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut of_node = vec![0; 2 * drafts.len()];
        let mut edges = Vec::with_capacity(2 * drafts.len());
        for &(from, to, capacity, cost) in drafts {
            for (node, edge) in [
                (from, Edge { to, left: capacity, cost }),
                (to, Edge { to: from, left: 0, cost: -cost }),
            ] {
                of_node[next[node as usize] as usize] = edges.len() as u32;
                next[node as usize] += 1;
                edges.push(edge);
            }
        }
        let mut network = Network { edges, starts, of_node, potentials: Vec::new() };
        network.potentials = network.first_potentials(nodes);
        network
    }

    /// The least costs from node 0, in one pass, since edges lead to greater numbers.
    fn first_potentials(&self, nodes: u32) -> Vec<i64> {
        let mut least = vec![i64::MAX; nodes as usize];
        least[0] = 0;
        for node in 0..nodes {
            let from = least[node as usize];
            if from == i64::MAX {
                continue;
            }
            for &edge in self.edges_of(node) {
                let Edge { to, left, cost } = self.edges[edge as usize];
                if left > 0 {
                    least[to as usize] = least[to as usize].min(from + cost);
                }
            }
        }
        least
    }

    fn edges_of(&self, node: u32) -> &[u32] {
        &self.of_node[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    fn reduced(&self, from: u32, edge: Edge) -> i64 {
        edge.cost + self.potentials[from as usize] - self.potentials[edge.to as usize]
    }

    /// Adds the least reduced costs from node 0 to the potentials, those beyond the sink's as the sink's.
    fn search(&mut self, sink: u32) {
        let nodes = self.potentials.len();
        let mut least = vec![i64::MAX; nodes];
        let mut heap = BinaryHeap::new();
        least[0] = 0;
        heap.push(Reverse((0, 0u32)));
        let mut of_sink = i64::MAX;
        while let Some(Reverse((distance, node))) = heap.pop() {
            if distance > least[node as usize] {
                continue;
            }
            if node == sink {
                of_sink = distance;
                break;
            }
            for &edge in self.edges_of(node) {
                let edge = self.edges[edge as usize];
                if edge.left == 0 {
                    continue;
                }
                let further = distance + self.reduced(node, edge);
                if further < least[edge.to as usize] {
                    least[edge.to as usize] = further;
                    heap.push(Reverse((further, edge.to)));
                }
            }
        }
        for (potential, least) in self.potentials.iter_mut().zip(least) {
            *potential += least.min(of_sink);
        }
    }

    /// Sends units along ways of no reduced cost, at most `units`; says how many.
    fn send(&mut self, sink: u32, units: u32) -> u32 {
        let nodes = self.potentials.len();
        let mut next = self.starts.clone();
        let mut is_on_way = vec![false; nodes];
        let (mut sent, mut way): (u32, Vec<u32>) = (0, Vec::new());
        let mut node = 0;
        is_on_way[0] = true;
        while sent < units {
            if node == sink {
                let least = way.iter().map(|&edge| self.edges[edge as usize].left).min();
                let amount = least.expect("a way has edges").min(units - sent);
                for edge in way.drain(..) {
                    self.edges[edge as usize].left -= amount;
                    self.edges[edge as usize ^ 1].left += amount;
                }
                sent += amount;
                is_on_way.fill(false);
                (node, is_on_way[0]) = (0, true);
                continue;
            }
            let place = next[node as usize];
            if place == self.starts[node as usize + 1] {
                // A dead end: the edge that led here is not tried again.
                let Some(edge) = way.pop() else { break };
                is_on_way[node as usize] = false;
                node = self.edges[edge as usize ^ 1].to;
                next[node as usize] += 1;
                continue;
            }
            let number = self.of_node[place as usize];
            let edge = self.edges[number as usize];
            let goes =
                edge.left > 0 && self.reduced(node, edge) == 0 && !is_on_way[edge.to as usize];
            if goes {
                way.push(number);
                node = edge.to;
                is_on_way[node as usize] = true;
            } else {
                next[node as usize] += 1;
            }
        }
        sent
    }
}

/// Costs as whole numbers of a common unit, whose length in ns is the second value.
fn scaled(costs: &[&BigRational]) -> Option<(Vec<i64>, BigRational)> {
    // a / gcd(a, b) is the numerator of a / b.
    let lcm = |a: BigInt, b: &BigInt| BigRational::new(a, b.clone()).numer() * b;
    let denominator = costs.iter().fold(BigInt::one(), |common, cost| lcm(common, cost.denom()));
    let whole = costs.iter().map(|cost| (cost.numer() * (&denominator / cost.denom())).to_i64());
    Some((whole.collect::<Option<_>>()?, BigRational::new(BigInt::one(), denominator)))
}

/// The least ns of accesses and migrations with `frames` frames of the fast tier and as many slow ones as are wanted.
///
/// # Errors
///
/// Prices whose common unit is too small to count in, or [`SimError::Interrupted`].
pub(crate) fn bound(
    records: &[Record],
    next_use: &[u32],
    frames: u32,
    prices: &TierPrices,
    keeps_shadows: bool,
    progress: &Progress,
) -> Result<BigRational, SimError> {
    let demotion = match keeps_shadows {
        true => (&prices.demotion).min(&prices.free_demotion),
        false => &prices.demotion,
    };
    let gains = [prices.gain(Op::Read), prices.gain(Op::Write)];
    let slow: BigRational = records
        .iter()
        .fold([0u64; 2], |mut numbers, &record| {
            numbers[first_op(record) as usize] += 1;
            numbers
        })
        .into_iter()
        .zip(&prices.slow)
        .map(|(number, cost)| BigRational::from_integer(number.into()) * cost)
        .sum();
    if frames == 0 || gains.iter().all(|gain| *gain <= BigRational::zero()) {
        return Ok(slow);
    }
    let (costs, unit) = scaled(&[&gains[0], &gains[1], &prices.promotion, demotion])
        .filter(|(costs, _)| costs.iter().all(|cost| cost.abs() < i64::MAX / (8 * MOST_REFERENCES as i64)))
        .ok_or_else(|| SimError::usage("policy bound: the profile's times have no common unit that is large enough to count in", "give them with fewer digits"))?;
    let (nodes, drafts) = drafts(records, next_use, frames, &costs);
    let sink = nodes - 1;
    let mut network = Network::new(nodes, &drafts);
    let (mut left, mut total) = (frames, 0i128);
    while left > 0 && network.potentials[sink as usize] < 0 {
        if progress.is_cancelled() {
            return Err(SimError::Interrupted);
        }
        let sent = network.send(sink, left);
        total += i128::from(network.potentials[sink as usize]) * i128::from(sent);
        left -= sent;
        if left > 0 {
            network.search(sink);
        }
    }
    Ok(slow + BigRational::from_integer(total.into()) * unit)
}

/// The network: for each reference the time before it, the page taken, and the page served; at last the end.
fn drafts(records: &[Record], next_use: &[u32], frames: u32, costs: &[i64]) -> (u32, Vec<Draft>) {
    let &[read, write, promotion, demotion] = costs else { unreachable!("four costs are given") };
    let end = 3 * records.len() as u32;
    let mut is_later = vec![false; records.len()];
    let mut drafts = Vec::with_capacity(5 * records.len());
    for (position, (&record, &next)) in records.iter().zip(next_use).enumerate() {
        let time = 3 * position as u32;
        let (taken, served, after) = (time + 1, time + 2, (time + 3).min(end));
        drafts.push((time, after, frames, 0));
        drafts.push((time, taken, 1, if is_later[position] { promotion } else { 0 }));
        let gain = if first_op(record) == Op::Read { read } else { write };
        drafts.push((taken, served, 1, -gain));
        drafts.push((served, after, 1, demotion));
        if next == NEVER {
            drafts.push((served, end, 1, 0));
        } else {
            is_later[next as usize] = true;
            drafts.push((served, 3 * next + 1, 1, 0));
        }
    }
    (end + 1, drafts)
}
