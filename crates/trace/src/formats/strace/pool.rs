//! What several threads may have, by number.

/// Things by number; numbers are used again.
pub(super) struct Pool<T> {
    entries: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Pool<T> {
    pub(super) fn add(&mut self, entry: T) -> usize {
        match self.free.pop() {
            Some(number) => {
                self.entries[number] = Some(entry);
                number
            }
            None => {
                self.entries.push(Some(entry));
                self.entries.len() - 1
            }
        }
    }

    pub(super) fn get(&mut self, number: usize) -> &mut T {
        self.entries[number].as_mut().expect("numbers are of what is there")
    }

    pub(super) fn peek(&self, number: usize) -> &T {
        self.entries[number].as_ref().expect("numbers are of what is there")
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten()
    }

    pub(super) fn remove(&mut self, number: usize) -> T {
        self.free.push(number);
        self.entries[number].take().expect("numbers are of what is there")
    }
}
