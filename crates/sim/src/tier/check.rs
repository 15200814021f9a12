//! What an experiment on two tiers may not ask for.

use clockhand_policy::Ratio;
use clockhand_policy::catalog::{Kind, Size, Visitor};
use clockhand_policy::page::{AccessDriven, BitDriven, Offline};
use clockhand_policy::tier::Placement;
use clockhand_quantity::{Text, option};

use super::{Contender, PromotionRule, Sight, TierExperiment, TierMemory};
use crate::error::SimError;
use crate::study::check_given;

/// Whether a policy reclaims in batches, which kernels do.
struct Reclaims;

impl Visitor for Reclaims {
    type Output = bool;

    fn bit_driven<P: BitDriven + 'static>(self, _: P) -> bool {
        P::RECLAIMS_IN_BATCHES
    }

    fn access_driven<P: AccessDriven + 'static>(self, _: P) -> bool {
        P::RECLAIMS_IN_BATCHES
    }

    fn offline<P: Offline + 'static>(self, _: P) -> bool {
        P::RECLAIMS_IN_BATCHES
    }
}

/// Whether a policy says itself where new pages go.
pub(super) fn has_placement(policy: &Contender) -> bool {
    match policy {
        Contender::Page(_) => false,
        Contender::Tier(policy) => {
            matches!(policy.description().name, "clock-dwf" | "m-clock" | "static")
        }
        Contender::Bound => true,
    }
}

pub(super) fn is_static(policy: &Contender) -> bool {
    matches!(policy, Contender::Tier(policy) if policy.description().name == "static")
}

/// Refuses options that do not go together.
pub(super) fn check(experiment: &TierExperiment) -> Result<(), SimError> {
    check_given(
        &experiment.fast,
        "size of the fast tier",
        option("fast") + " or " + option("fast-frames"),
    )?;
    check_given(&experiment.tiers, "pair of tiers", option("tiers") + " NAME")?;
    check_given(&experiment.policies, "policy", option("policy") + " NAME")?;
    check_given(&experiment.promotions, "rule of promotion", option("promote") + " RULE")?;
    check_given(&experiment.page_sizes_bytes, "page size", option("page-size") + " SIZE")?;
    if experiment.needs_bound {
        experiment.intervals.refuse(option("policy") + " bound")?;
    }
    let has_no_slow = experiment.slow == Some(TierMemory::None);
    if has_no_slow && experiment.fast.contains(&TierMemory::None) {
        return Err(SimError::usage(
            "the fast tier and the slow tier both have no frame",
            "give one of them some",
        ));
    }
    let is_page = |policy: &Contender| matches!(policy, Contender::Page(_));
    let has_page_policy = experiment.policies.iter().any(is_page);
    if !has_page_policy && experiment.page_options_given {
        return Err(SimError::usage(
            option("promote")
                + " and "
                + option("see")
                + " are of page policies, and none is given",
            Text::from("leave them out or add one such as ") + option("policy") + " lru",
        ));
    }
    if experiment.placement.is_some() && experiment.policies.iter().all(has_placement) {
        return Err(SimError::usage(
            option("placement")
                + " has no effect, since clock-dwf, m-clock, static and bound say themselves where new pages go",
            "leave it out",
        ));
    }
    let is_tier = |policy: &Contender| !is_page(policy) && !has_placement(policy);
    if experiment.placement == Some(Placement::MakeRoom) && experiment.policies.iter().any(is_tier)
    {
        return Err(SimError::usage(
            option("placement")
                + " make-room is for page policies, which demote a page when one comes",
            "give fast, slow or interleave:W:V with tpp, memtis and hemem",
        ));
    }
    if has_no_slow && experiment.policies.iter().any(is_static) {
        return Err(SimError::usage(
            "policy static needs a slow tier for all other pages",
            Text::from("give ") + option("slow") + " some frames or leave it out",
        ));
    }
    if experiment.slow.is_some() && experiment.needs_bound {
        return Err(SimError::usage(
            "policy bound has as many slow frames as it wants",
            Text::from("leave out ") + option("slow") + " and " + option("slow-frames"),
        ));
    }
    experiment.policies.iter().try_for_each(|policy| check_page_policy(experiment, policy))
}

fn check_page_policy(experiment: &TierExperiment, policy: &Contender) -> Result<(), SimError> {
    let Contender::Page(policy) = policy else { return Ok(()) };
    let entry = policy.entry();
    let name = entry.description.name;
    if entry.own.is_none()
        && policy.resolve(4, Ratio::whole(1))?.build(Size { frames: 4, pages: 4 }, Reclaims)
    {
        return Err(SimError::usage(
            format!(
                "policy {name} is a kernel's reclaim, which frees pages in batches and keeps no fast tier"
            ),
            "give a page policy such as lru",
        ));
    }
    if entry.kind == Kind::Offline && experiment.sight != Sight::All {
        return Err(SimError::usage(
            format!("policy {name} must see every reference"),
            Text::from("leave out ") + option("see") + " or give " + option("see") + " all",
        ));
    }
    let has_tinylfu = experiment.promotions.iter().any(|(_, rule)| *rule == PromotionRule::TinyLfu);
    if has_tinylfu && !entry.can_peek {
        return Err(SimError::cannot_peek(option("promote"), "page", name));
    }
    Ok(())
}
