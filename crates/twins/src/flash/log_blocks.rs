//! The drives with log blocks, of rules A-116 (BAST) and A-117 (FAST): slow and literal.

use std::collections::{BTreeMap, VecDeque};

use super::{FlashCause, FlashEvent};

/// The drive's rules.
#[derive(Clone, Debug)]
pub struct LogBlockRules {
    /// True if data blocks share the log blocks (FAST), or each has its own (BAST).
    pub shares: bool,
    /// Pools; logical page p belongs to pool p mod pools.
    pub pools: usize,
    /// Blocks of each pool.
    pub blocks_per_pool: usize,
    /// Pages of a block.
    pub pages_per_block: usize,
    /// Logical pages.
    pub logical_pages: u32,
    /// Log blocks of each pool, if not all that are left.
    pub log_blocks: Option<usize>,
    /// Erases after which a block is retired.
    pub endurance: Option<u32>,
}

/// What the drive counts: switch, partial and full merges.
pub type Merges = (u64, u64, u64);

#[derive(Clone, Debug)]
struct Log {
    logical_block: usize,
    block: usize,
    /// The pages in it, in order.
    pages: Vec<u32>,
}

#[derive(Clone, Default)]
struct Pool {
    log_blocks: usize,
    erased: VecDeque<usize>,
    /// By logical block: its data block, and the highest offset programmed there.
    data: BTreeMap<usize, (usize, Option<usize>)>,
    /// BAST: from the least to the most recently written. FAST: random ones from the oldest to the newest.
    logs: VecDeque<Log>,
    /// FAST.
    sequential: Option<Log>,
}

/// The drive.
pub struct LogBlockTwin {
    rules: LogBlockRules,
    pools: Vec<Pool>,
    /// Where each logical page is: block, and page in it.
    places: BTreeMap<u32, (usize, usize)>,
    erases: Vec<u32>,
    merges: Merges,
    events: Vec<FlashEvent>,
}

/// No block is erased.
struct WornOut;

impl LogBlockTwin {
    /// An erased drive.
    pub fn new(rules: LogBlockRules) -> LogBlockTwin {
        let pool = |index: usize| {
            let pages =
                (0..rules.logical_pages as usize).filter(|page| page % rules.pools == index);
            let data_blocks = pages.count().div_ceil(rules.pages_per_block);
            let first = index * rules.blocks_per_pool;
            Pool {
                log_blocks: rules.log_blocks.unwrap_or(rules.blocks_per_pool - data_blocks - 1),
                erased: (first..first + rules.blocks_per_pool).collect(),
                ..Pool::default()
            }
        };
        LogBlockTwin {
            pools: (0..rules.pools).map(pool).collect(),
            places: BTreeMap::new(),
            erases: vec![0; rules.pools * rules.blocks_per_pool],
            merges: (0, 0, 0),
            events: Vec::new(),
            rules,
        }
    }

    /// A host write: what it led to, and whether it was carried out.
    pub fn write(&mut self, page: u32) -> (Vec<FlashEvent>, bool) {
        let done = if self.rules.shares { self.write_fast(page) } else { self.write_bast(page) };
        (std::mem::take(&mut self.events), done.is_ok())
    }

    /// The host trims a page.
    pub fn trim(&mut self, page: u32) {
        self.places.remove(&page);
    }

    /// The physical page of a logical one.
    pub fn find(&self, page: u32) -> Option<u32> {
        self.places.get(&page).map(|place| self.number(*place))
    }

    /// Switch, partial and full merges so far.
    pub fn merges(&self) -> Merges {
        self.merges
    }

    /// Erases of each block.
    pub fn erases(&self) -> Vec<u32> {
        self.erases.clone()
    }

    fn number(&self, (block, at): (usize, usize)) -> u32 {
        (block * self.rules.pages_per_block + at) as u32
    }

    /// Pool, logical block and offset of a page.
    fn split(&self, page: u32) -> (usize, usize, usize) {
        let (pool, in_pool) = (page as usize % self.rules.pools, page as usize / self.rules.pools);
        let pages = self.rules.pages_per_block;
        (pool, in_pool / pages, in_pool % pages)
    }

    fn take(&mut self, pool: usize) -> Result<usize, WornOut> {
        self.pools[pool].erased.pop_front().ok_or(WornOut)
    }

    fn erase(&mut self, pool: usize, block: usize) {
        self.erases[block] += 1;
        if self.rules.endurance.is_none_or(|endurance| self.erases[block] < endurance) {
            self.pools[pool].erased.push_back(block);
        }
        self.events.push(FlashEvent::Erase { cause: FlashCause::Merge, block: block as u32 });
    }

    fn program(&mut self, page: u32, place: (usize, usize)) {
        self.places.insert(page, place);
        self.events.push(FlashEvent::Program { to: self.number(place), page });
    }

    /// Programs a page at its offset in the data block, if that or a higher one is not programmed yet.
    fn in_place(&mut self, page: u32) -> Result<bool, WornOut> {
        let (pool, logical_block, offset) = self.split(page);
        if !self.pools[pool].data.contains_key(&logical_block) {
            let block = self.take(pool)?;
            self.pools[pool].data.insert(logical_block, (block, None));
        }
        let (block, highest) = self.pools[pool].data[&logical_block];
        if highest.is_some_and(|highest| highest >= offset) {
            return Ok(false);
        }
        self.program(page, (block, offset));
        self.pools[pool].data.insert(logical_block, (block, Some(offset)));
        Ok(true)
    }

    fn write_bast(&mut self, page: u32) -> Result<(), WornOut> {
        if self.in_place(page)? {
            return Ok(());
        }
        let (pool, logical_block, _) = self.split(page);
        let own = |log: &Log| log.logical_block == logical_block;
        let position = self.pools[pool].logs.iter().position(own);
        let mut log = match position {
            Some(position) => self.pools[pool].logs.remove(position).expect("it was found"),
            None => {
                if self.pools[pool].logs.len() == self.pools[pool].log_blocks {
                    let oldest = self.pools[pool].logs.pop_front().expect("there are log blocks");
                    self.merge(pool, oldest)?;
                }
                Log { logical_block, block: self.take(pool)?, pages: Vec::new() }
            }
        };
        if log.pages.len() == self.rules.pages_per_block {
            self.merge(pool, log)?;
            return self.write_bast(page);
        }
        self.program(page, (log.block, log.pages.len()));
        log.pages.push(page);
        self.pools[pool].logs.push_back(log);
        Ok(())
    }

    fn is_in_order(&self, log: &Log) -> bool {
        log.pages.iter().enumerate().all(|(at, page)| self.split(*page).2 == at)
    }

    fn merge(&mut self, pool: usize, log: Log) -> Result<(), WornOut> {
        if self.is_in_order(&log) {
            self.switch_or_partial(pool, &log);
            return Ok(());
        }
        self.full_merge(pool, log.logical_block)?;
        self.erase(pool, log.block);
        Ok(())
    }

    fn switch_or_partial(&mut self, pool: usize, log: &Log) {
        let pages = self.rules.pages_per_block;
        let copied = match log.pages.len() == pages {
            true => {
                self.merges.0 += 1;
                None
            }
            false => {
                self.merges.1 += 1;
                self.copy(pool, log.logical_block, log.pages.len(), log.block)
            }
        };
        let highest = copied.unwrap_or(log.pages.len() - 1);
        let old = self.pools[pool].data.insert(log.logical_block, (log.block, Some(highest)));
        self.erase(pool, old.expect("there is a data block").0);
    }

    fn full_merge(&mut self, pool: usize, logical_block: usize) -> Result<(), WornOut> {
        let new = self.take(pool)?;
        self.merges.2 += 1;
        let highest = self.copy(pool, logical_block, 0, new);
        let old = self.pools[pool].data.insert(logical_block, (new, highest));
        self.erase(pool, old.expect("there is a data block").0);
        Ok(())
    }

    /// Copies last versions from an offset on; says the highest one copied.
    fn copy(
        &mut self,
        pool: usize,
        logical_block: usize,
        first: usize,
        block: usize,
    ) -> Option<usize> {
        let mut highest = None;
        for offset in first..self.rules.pages_per_block {
            let in_pool = logical_block * self.rules.pages_per_block + offset;
            let page = (in_pool * self.rules.pools + pool) as u32;
            if let Some(from) = self.find(page) {
                self.places.insert(page, (block, offset));
                let to = self.number((block, offset));
                self.events.push(FlashEvent::Relocate { cause: FlashCause::Merge, from, to, page });
                highest = Some(offset);
            }
        }
        highest
    }

    fn write_fast(&mut self, page: u32) -> Result<(), WornOut> {
        if self.in_place(page)? {
            return Ok(());
        }
        let (pool, logical_block, offset) = self.split(page);
        if offset == 0 {
            if let Some(old) = self.pools[pool].sequential.take() {
                self.switch_or_partial(pool, &old);
            }
            let block = self.take(pool)?;
            self.program(page, (block, 0));
            self.pools[pool].sequential = Some(Log { logical_block, block, pages: vec![page] });
            return Ok(());
        }
        let own = self.pools[pool].sequential.clone();
        if let Some(mut own) = own.filter(|log| log.logical_block == logical_block) {
            if own.pages.len() == offset {
                self.program(page, (own.block, offset));
                own.pages.push(page);
                self.pools[pool].sequential = Some(own);
                return Ok(());
            }
            self.pools[pool].sequential = None;
            self.switch_or_partial(pool, &own);
            return self.write_fast(page);
        }
        let full = |log: &Log| log.pages.len() == self.rules.pages_per_block;
        if self.pools[pool].logs.back().is_none_or(full) {
            if self.pools[pool].logs.len() == self.pools[pool].log_blocks - 1 {
                self.reclaim(pool)?;
            }
            let block = self.take(pool)?;
            self.pools[pool].logs.push_back(Log { logical_block: 0, block, pages: Vec::new() });
        }
        let newest = self.pools[pool].logs.back().expect("there is one");
        let place = (newest.block, newest.pages.len());
        self.program(page, place);
        self.pools[pool].logs.back_mut().expect("there is one").pages.push(page);
        Ok(())
    }

    /// Empties the oldest random log block.
    fn reclaim(&mut self, pool: usize) -> Result<(), WornOut> {
        let oldest = self.pools[pool].logs.front().expect("there is one").clone();
        for (at, page) in oldest.pages.iter().enumerate() {
            if self.places.get(page) != Some(&(oldest.block, at)) {
                continue;
            }
            let (_, logical_block, _) = self.split(*page);
            self.full_merge(pool, logical_block)?;
            let own = |log: &Log| log.logical_block == logical_block;
            if self.pools[pool].sequential.as_ref().is_some_and(own) {
                let sequential = self.pools[pool].sequential.take().expect("it is there");
                self.erase(pool, sequential.block);
            }
        }
        self.pools[pool].logs.pop_front();
        self.erase(pool, oldest.block);
        Ok(())
    }
}
