//! The circle of a clock whose hand looks for the heaviest entry.

use alloc::vec::Vec;

use core::marker::PhantomData;

use super::Listed;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    left: u32,
    right: u32,
    parent: u32,
    weight: u8,
    /// The largest weight of this node and those below it.
    heaviest: u8,
}

/// Blocks, or frames, in the order in which the hand reaches them, each with a weight from 0 to 64.
///
/// The order is that of a splay tree: the first entry from the hand that has the largest weight is found,
/// an entry is removed from anywhere and the hand set behind it in O(log n) amortized, with no allocation but
/// for an entry that was never used before. 16 bytes per entry.
#[derive(Clone, Debug)]
pub(crate) struct Circle<T> {
    nodes: Vec<Node>,
    root: u32,
    entries: PhantomData<T>,
}

impl<T: Listed> Circle<T> {
    pub(crate) const EMPTY: Self = Circle { nodes: Vec::new(), root: NONE, entries: PhantomData };

    #[inline]
    fn node(&mut self, index: u32) -> &mut Node {
        &mut self.nodes[index as usize]
    }

    #[inline]
    fn heaviest_below(&self, index: u32) -> u8 {
        if index == NONE { 0 } else { self.nodes[index as usize].heaviest }
    }

    /// Whether `index` or what is below it weighs at least `weight`.
    #[inline]
    fn reaches(&self, index: u32, weight: u8) -> bool {
        index != NONE && self.nodes[index as usize].heaviest >= weight
    }

    fn update(&mut self, index: u32) {
        let Node { left, right, weight, .. } = self.nodes[index as usize];
        let below = self.heaviest_below(left).max(self.heaviest_below(right));
        self.node(index).heaviest = weight.max(below);
    }

    fn set_parent(&mut self, index: u32, parent: u32) {
        if index != NONE {
            self.node(index).parent = parent;
        }
    }

    /// Turns the edge between `child` and its parent.
    fn rotate(&mut self, child: u32) {
        let parent = self.nodes[child as usize].parent;
        let grandparent = self.nodes[parent as usize].parent;
        if self.nodes[parent as usize].left == child {
            let inner = self.nodes[child as usize].right;
            self.node(parent).left = inner;
            self.set_parent(inner, parent);
            self.node(child).right = parent;
        } else {
            let inner = self.nodes[child as usize].left;
            self.node(parent).right = inner;
            self.set_parent(inner, parent);
            self.node(child).left = parent;
        }
        self.node(parent).parent = child;
        self.node(child).parent = grandparent;
        if grandparent != NONE {
            let above = self.node(grandparent);
            if above.left == parent {
                above.left = child;
            } else {
                above.right = child;
            }
        }
        self.update(parent);
        self.update(child);
    }

    /// Brings `index` to the root of its tree.
    fn splay(&mut self, index: u32) {
        loop {
            let parent = self.nodes[index as usize].parent;
            if parent == NONE {
                return;
            }
            let grandparent = self.nodes[parent as usize].parent;
            if grandparent != NONE {
                let outer = self.nodes[grandparent as usize].left == parent;
                let inner = self.nodes[parent as usize].left == index;
                self.rotate(if outer == inner { parent } else { index });
            }
            self.rotate(index);
        }
    }

    fn access(&mut self, entry: T) -> u32 {
        self.splay(entry.index() as u32);
        self.root = entry.index() as u32;
        entry.index() as u32
    }

    /// The tree with the entries of `first` before those of `second`.
    fn join(&mut self, first: u32, second: u32) -> u32 {
        if first == NONE || second == NONE {
            return if first == NONE { second } else { first };
        }
        let mut last = first;
        while self.nodes[last as usize].right != NONE {
            last = self.nodes[last as usize].right;
        }
        self.splay(last);
        self.node(last).right = second;
        self.node(second).parent = last;
        self.update(last);
        last
    }

    /// Links `entry`, which is not here, in the place that the hand reaches last.
    pub(crate) fn push_tail(&mut self, entry: T, weight: u8) {
        let node = Node { left: self.root, right: NONE, parent: NONE, weight, heaviest: weight };
        if entry.index() >= self.nodes.len() {
            self.nodes.resize(entry.index() + 1, node);
        }
        self.nodes[entry.index()] = node;
        self.set_parent(self.root, entry.index() as u32);
        self.update(entry.index() as u32);
        self.root = entry.index() as u32;
    }

    pub(crate) fn weight(&self, entry: T) -> u8 {
        self.nodes[entry.index()].weight
    }

    pub(crate) fn set_weight(&mut self, entry: T, weight: u8) {
        let root = self.access(entry);
        self.node(root).weight = weight;
        self.update(root);
    }

    /// Takes `entry` out and its neighbours apart: what the hand reaches before it, and after it.
    fn cut(&mut self, entry: T) -> (u32, u32) {
        let Node { left, right, .. } = *{
            let root = self.access(entry);
            self.node(root)
        };
        self.set_parent(left, NONE);
        self.set_parent(right, NONE);
        (left, right)
    }

    /// Unlinks `entry`; if the hand is on it, the hand moves to the next.
    pub(crate) fn remove(&mut self, entry: T) {
        let (before, after) = self.cut(entry);
        self.root = self.join(before, after);
    }

    /// Unlinks `entry` and moves the hand to the entry behind it.
    pub(crate) fn remove_and_pass(&mut self, entry: T) {
        let (before, after) = self.cut(entry);
        self.root = self.join(after, before);
    }

    /// Moves the hand from the entry that it is on to the next.
    pub(crate) fn pass(&mut self, entry: T) {
        let weight = self.nodes[entry.index()].weight;
        self.remove_and_pass(entry);
        self.push_tail(entry, weight);
    }

    /// The largest weight, 0 if the circle is empty.
    pub(crate) fn largest_weight(&self) -> u8 {
        self.heaviest_below(self.root)
    }

    /// The first of the heaviest below `top`, in the hand's order; the weight is known to occur there.
    fn first_of(&self, top: u32, weight: u8) -> u32 {
        let mut index = top;
        loop {
            let Node { left, right, weight: own, .. } = self.nodes[index as usize];
            if self.reaches(left, weight) {
                index = left;
            } else if own >= weight {
                return index;
            } else {
                index = right;
            }
        }
    }

    /// The first of the heaviest blocks from the hand.
    pub(crate) fn first_heaviest(&mut self) -> Option<T> {
        let found = self.peek_heaviest()?;
        self.access(found);
        Some(found)
    }

    /// As [`Circle::first_heaviest`], without a change.
    pub(crate) fn peek_heaviest(&self) -> Option<T> {
        let weight = self.largest_weight();
        (self.root != NONE).then(|| T::from_index(self.first_of(self.root, weight)))
    }

    /// The next of the heaviest blocks behind `entry`, around the circle.
    pub(crate) fn next_heaviest(&mut self, entry: T) -> T {
        let weight = self.largest_weight();
        let root = self.access(entry);
        let behind = self.nodes[root as usize].right;
        let top = if self.reaches(behind, weight) { behind } else { root };
        let found = T::from_index(self.first_of(top, weight));
        self.access(found);
        found
    }

    fn leftmost(&self, top: u32) -> u32 {
        let mut index = top;
        while index != NONE && self.nodes[index as usize].left != NONE {
            index = self.nodes[index as usize].left;
        }
        index
    }

    /// The entry under the hand.
    pub(crate) fn under_hand(&mut self) -> Option<T> {
        let first = self.leftmost(self.root);
        (first != NONE).then(|| {
            self.access(T::from_index(first));
            T::from_index(first)
        })
    }

    /// All blocks, from the hand.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        let mut index = self.leftmost(self.root);
        core::iter::from_fn(move || {
            let current = index;
            (current != NONE).then(|| {
                index = self.following(current);
                T::from_index(current)
            })
        })
    }

    fn following(&self, index: u32) -> u32 {
        let right = self.nodes[index as usize].right;
        if right != NONE {
            return self.leftmost(right);
        }
        let (mut below, mut above) = (index, self.nodes[index as usize].parent);
        while above != NONE && self.nodes[above as usize].right == below {
            (below, above) = (above, self.nodes[above as usize].parent);
        }
        above
    }

    /// Asserts that links and largest weights agree and that the weights are those of `weight`.
    pub(crate) fn check_invariants(&self, weight: impl Fn(T) -> u8) {
        assert!(self.root == NONE || self.nodes[self.root as usize].parent == NONE, "the root");
        for entry in self.iter() {
            let node = self.nodes[entry.index()];
            let below = self.heaviest_below(node.left).max(self.heaviest_below(node.right));
            assert_eq!(node.heaviest, node.weight.max(below), "a largest weight is wrong");
            assert_eq!(node.weight, weight(entry), "a weight is wrong");
            for child in [node.left, node.right].into_iter().filter(|&child| child != NONE) {
                assert_eq!(
                    self.nodes[child as usize].parent,
                    entry.index() as u32,
                    "a parent is wrong"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::BlockSlot;
    use alloc::collections::VecDeque;

    #[test]
    fn it_turns_as_a_plain_queue() {
        let (mut circle, mut plain) = (Circle::<BlockSlot>::EMPTY, VecDeque::<(u32, u8)>::new());
        let mut random = 2017u64;
        for round in 0..4000u32 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (draw, weight) = ((random >> 33) as usize, (random >> 62) as u8);
            let place = if plain.is_empty() { 0 } else { draw % plain.len() };
            match random >> 20 & 7 {
                0 | 1 if plain.iter().all(|&(block, _)| block != round % 50) => {
                    circle.push_tail(BlockSlot(round % 50), weight);
                    plain.push_back((round % 50, weight));
                }
                2 if !plain.is_empty() => {
                    let (block, _) = plain.remove(place).unwrap();
                    circle.remove(BlockSlot(block));
                }
                3 if !plain.is_empty() => {
                    plain.rotate_left(place);
                    let (block, _) = plain.pop_front().unwrap();
                    circle.remove_and_pass(BlockSlot(block));
                }
                4 if !plain.is_empty() => {
                    assert_eq!(circle.under_hand(), Some(BlockSlot(plain[0].0)));
                    circle.pass(BlockSlot(plain[0].0));
                    plain.rotate_left(1);
                }
                5 if !plain.is_empty() => {
                    circle.set_weight(BlockSlot(plain[place].0), weight);
                    plain[place].1 = weight;
                }
                6 if !plain.is_empty() => {
                    let largest = plain.iter().map(|&(_, weight)| weight).max().unwrap();
                    let behind = (1..=plain.len()).map(|step| plain[(place + step) % plain.len()]);
                    let mut heaviest = behind.filter(|&(_, weight)| weight == largest);
                    let next = heaviest.next().unwrap().0;
                    assert_eq!(circle.next_heaviest(BlockSlot(plain[place].0)), BlockSlot(next));
                }
                _ => {
                    let largest = plain.iter().map(|&(_, weight)| weight).max();
                    let first = plain.iter().find(|&&(_, weight)| Some(weight) == largest);
                    assert_eq!(circle.first_heaviest(), first.map(|&(block, _)| BlockSlot(block)));
                }
            }
            assert!(circle.iter().eq(plain.iter().map(|&(block, _)| BlockSlot(block))));
            let weight_of = |slot: BlockSlot| plain.iter().find(|one| one.0 == slot.0).unwrap().1;
            circle.check_invariants(weight_of);
        }
    }
}
