//! CLOCK-DNV's named alternatives.

use crate::buffer::mechanism::proposal::Commands;
use crate::parameters::{Default, Domain, Parameter, Settings};

/// The share of DRAM in the total of a hybrid buffer.
pub(in crate::buffer) const DRAM_SHARE: Parameter = Parameter::share(
    "dram_share",
    "the share of DRAM in the total, rounded down, at least a page; the rest is NVM",
    "1/10",
);

pub(super) const PARAMETERS: &[Parameter] = &[
    DRAM_SHARE,
    Parameter {
        name: "nvm_write_hit",
        summary: "where a write to a page in NVM is served",
        domain: Domain::Choice(&["in_place", "promote", "dram_copy"]),
        default: Default::Value("in_place"),
        only_with: None,
    },
    Parameter {
        name: "padding",
        summary: "what becomes of the dirty pages in DRAM of a block that is flushed",
        domain: Domain::Choice(&["remove", "keep_clean", "off"]),
        default: Default::Value("remove"),
        only_with: None,
    },
    Parameter {
        name: "pad_migrating",
        summary: "whether a migrating page of the victim's own block joins the batch",
        domain: Domain::Flag,
        default: Default::Value("false"),
        only_with: None,
    },
    Parameter {
        name: "read_allocate",
        summary: "whether a read miss enters DRAM",
        domain: Domain::Flag,
        default: Default::Value("true"),
        only_with: None,
    },
    Commands::PARAMETER,
];

/// The memory that serves a write to a page in NVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NvmWriteHit {
    InPlace,
    Promote,
    DramCopy,
}

/// The treatment of dirty pages in DRAM whose block is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    Remove,
    KeepClean,
    Off,
}

/// The named alternatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Modes {
    pub(super) nvm_write_hit: NvmWriteHit,
    pub(super) padding: Padding,
    pub(super) pads_migrating: bool,
    pub(super) read_allocates: bool,
    pub(super) commands: Commands,
}

impl Modes {
    pub(super) fn of(settings: &Settings) -> Self {
        Modes {
            nvm_write_hit: match settings.choice("nvm_write_hit") {
                "promote" => NvmWriteHit::Promote,
                "dram_copy" => NvmWriteHit::DramCopy,
                _ => NvmWriteHit::InPlace,
            },
            padding: match settings.choice("padding") {
                "keep_clean" => Padding::KeepClean,
                "off" => Padding::Off,
                _ => Padding::Remove,
            },
            pads_migrating: settings.flag("pad_migrating"),
            read_allocates: settings.flag("read_allocate"),
            commands: Commands::of(settings),
        }
    }
}
