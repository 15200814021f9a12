//! # opt-feasible: a schedule near the optimum
//!
//! The upper end of the bracket of the optimum: a schedule that loads a page only when it is referenced, and could
//! be carried out by a policy that knew the future. The least I/O time of any policy is between those of `bound` and
//! of `opt-feasible`; `min` misses less often, but does not know what a write costs. Its row is that of a policy.
//!
//! **Victim.** The page with the least (cost saved by keeping it until its next reference - price of the places that it
//! takes until then), by the prices that `bound` finds. It is the cheapest of the schedules for several prices on the
//! way, and of Belady's.
//!
//! **Parameters.** `effort`: as that of `bound`. Both rows of a memory size come from one search.
//!
//! **Reference.** `bound` has the references.
