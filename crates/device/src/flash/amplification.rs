//! Write amplification under uniform random overwrites, where it is known exactly: what the drive is checked against.
//!
//! `alpha` is physical pages per logical page, above 1. All pages are written equally often and independently.

use super::options::VictimRule;

/// Write amplification of a large drive under uniform random overwrites; none for rules whose value is not known in closed form
/// or by mean field (cost-benefit), and unless `alpha` is above 1.
///
/// * FIFO: A = α / (α + W(−α e^−α)), W being Lambert's function, principal branch (P. Desnoyers, SYSTOR 2012; L. Xiang, B. M.
///   Kurkoski, 2012).
/// * Greedy, d choices, random: the mean field of B. Van Houdt, SIGMETRICS 2013. S_j is the fraction of blocks with at least
///   j valid pages; the victim has at least j with probability S_j^d, greedy being the limit of large d.
pub fn uniform_random_write_amplification(
    rule: VictimRule,
    alpha: f64,
    pages_per_block: u32,
) -> Option<f64> {
    if alpha.is_nan() || alpha <= 1.0 || pages_per_block == 0 {
        return None;
    }
    match rule {
        VictimRule::Fifo => Some(alpha / (alpha + lambert_w(-alpha * (-alpha).exp()))),
        VictimRule::Greedy => Some(mean_field(alpha, pages_per_block, None)),
        VictimRule::DChoices(d) => Some(mean_field(alpha, pages_per_block, Some(d.max(1)))),
        VictimRule::Random => Some(mean_field(alpha, pages_per_block, Some(1))),
        VictimRule::CostBenefit => None,
    }
}

/// Write amplification of FIFO when logical pages are of two kinds that are not separated: a share of the pages, the hot ones,
/// gets a share of the writes. Each class is uniform. (P. Desnoyers, SYSTOR 2012.)
///
/// In x drive writes the queue goes round once. A page written r/f times as often as the average one is then still valid
/// with probability e^(−x r/f), so that A = Σ r / (1 − e^(−x r/f)), and x A = α.
pub fn hot_cold_fifo_write_amplification(alpha: f64, hot_pages: f64, hot_writes: f64) -> f64 {
    let classes = [(hot_pages, hot_writes), (1.0 - hot_pages, 1.0 - hot_writes)];
    let amplification = |x: f64| -> f64 {
        classes.iter().map(|(pages, writes)| writes / (1.0 - (-x * writes / pages).exp())).sum()
    };
    alpha / bisect(|x| x * amplification(x) - alpha, 1e-9, alpha)
}

/// The principal branch of Lambert's function, w e^w = x, by Newton's method; x from −1/e, not included, to 0.
fn lambert_w(x: f64) -> f64 {
    // The series at the branch point is the better start the nearer x is to it, and good enough elsewhere.
    let mut w = -1.0 + (2.0 * (1.0 + std::f64::consts::E * x)).max(0.0).sqrt();
    for _ in 0..50 {
        let step = (w * w.exp() - x) / (w.exp() * (w + 1.0));
        w -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    w
}

/// d choices, or greedy if `d` is `None`.
///
/// Let there be r erases per host write, and B blocks for L logical pages. The blocks with at least j valid pages grow
/// by those filled, r, less those collected, r S_j^d, less those that lose a page. So r (1 − S_j^d) = j (S_j − S_(j+1))
/// B / L. A given r thus gives S from the top down; the right r is the one whose S hold all L logical pages.
fn mean_field(alpha: f64, pages_per_block: u32, d: Option<u32>) -> f64 {
    let pages = f64::from(pages_per_block);
    let valid_mean = pages / alpha;
    let excess = |erases_per_write: f64| {
        let mut above = 0.0;
        let mut valid = 0.0;
        for j in (1..=pages_per_block).rev() {
            let loss = erases_per_write * valid_mean / f64::from(j);
            above = match d {
                None => f64::min(1.0, above + loss),
                Some(d) => {
                    let exponent = f64::from(d);
                    bisect(|s| s - above - loss * (1.0 - s.powf(exponent)), above, 1.0)
                }
            };
            valid += above;
        }
        valid - valid_mean
    };
    // Between no relocation at all and all pages but one relocated.
    pages * bisect(excess, 1.0 / pages, 1e6 / pages)
}

/// The zero of a rising function between two bounds.
fn bisect(function: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if function(middle) < 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over-provisioning of logical, and FIFO, greedy, d = 10, d = 2 and random: the published values.
    const TABLE: [(f64, [f64; 5]); 5] = [
        (0.07, [7.817, 7.010, 7.323, 10.277, 15.286]),
        (0.10, [5.678, 5.247, 5.450, 7.506, 11.000]),
        (0.15, [4.016, 3.801, 3.930, 5.312, 7.667]),
        (0.15 / 0.85, [3.518, 3.353, 3.463, 4.647, 6.666]),
        (0.28, [2.481, 2.403, 2.471, 3.245, 4.571]),
    ];

    #[test]
    fn the_computed_values_are_the_published_ones() {
        let rules = [
            VictimRule::Fifo,
            VictimRule::Greedy,
            VictimRule::DChoices(10),
            VictimRule::DChoices(2),
            VictimRule::Random,
        ];
        for (share, row) in TABLE {
            for (rule, expected) in rules.into_iter().zip(row) {
                let value = uniform_random_write_amplification(rule, 1.0 + share, 64).unwrap();
                assert!(
                    (value - expected).abs() < 0.0015,
                    "{rule} at {share}: {value}, {expected}"
                );
            }
        }
    }

    #[test]
    fn one_choice_is_random_and_many_choices_are_greedy() {
        let value = |rule| uniform_random_write_amplification(rule, 1.15, 64).unwrap();
        assert!((value(VictimRule::DChoices(1)) - 1.15 / 0.15).abs() < 1e-6);
        assert!((value(VictimRule::DChoices(100_000)) - value(VictimRule::Greedy)).abs() < 1e-3);
    }

    #[test]
    fn hot_and_cold_pages_of_one_kind_are_uniform() {
        let uniform = uniform_random_write_amplification(VictimRule::Fifo, 1.15, 64).unwrap();
        let one_kind = hot_cold_fifo_write_amplification(1.15, 0.2, 0.2);
        assert!((uniform - one_kind).abs() < 1e-9, "{uniform} {one_kind}");
        for (share, expected) in [(0.07, 8.182), (0.15, 4.370), (0.28, 2.820)] {
            let value = hot_cold_fifo_write_amplification(1.0 + share, 0.2, 0.8);
            assert!((value - expected).abs() < 0.0015, "{share}: {value}, {expected}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(uniform_random_write_amplification(VictimRule::CostBenefit, 1.15, 64), None);
        for alpha in [1.0, 0.5, f64::NAN] {
            assert_eq!(uniform_random_write_amplification(VictimRule::Fifo, alpha, 64), None);
        }
    }
}
